"""When two sentences say the same: compared by the words that carry their meaning, in their order."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

# Words that change how a statement sounds and not what it says. Never those that turn it round.
_FILLERS = frozenset(
    [
        "a",
        "an",
        "the",
        "i",
        "me",
        "my",
        "mine",
        "myself",
        "user",
        "users",
        "we",
        "our",
        "us",
        "you",
        "your",
        "am",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "do",
        "does",
        "did",
        "have",
        "has",
        "had",
        "that",
        "this",
        "these",
        "those",
        "it",
        "its",
        "to",
        "of",
        "in",
        "on",
        "at",
        "by",
        "for",
        "from",
        "with",
        "over",
        "than",
        "as",
        "and",
        "or",
        "so",
        "too",
        "also",
        "really",
        "very",
        "much",
        "quite",
        "just",
        "always",
        "usually",
        "generally",
        "please",
        "would",
        "could",
        "should",
        "will",
        "shall",
        "can",
        "may",
        "d",
        "ll",
        "m",
        "s",
        "re",
        "ve",
        "remember",
        "want",
        "wants",
        "wanted",
        "like",
        "likes",
        "liked",
        "they",
        "their",
        "he",
        "his",
        "she",
        "her",
        "who",
        "which",
        "there",
        "here",
    ]
)
_WORD = re.compile(r"\w+")
_LIKE = 0.75


def stems(text: str) -> list[str]:
    """The words of a text that carry its meaning, without their endings, in order."""
    return [_stem(word) for word in _WORD.findall(text.casefold()) if word not in _FILLERS]


def _stem(word: str) -> str:
    for ending in ("ences", "ence", "ings", "ing", "ies", "ed", "es", "s"):
        if len(word) - len(ending) >= 3 and word.endswith(ending) and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word


# Words that turn a statement round, as `stems` gives them.
_TURNS_ROUND = frozenset(
    [
        "no",
        "not",
        "never",
        "non",
        "without",
        "t",
        "don",
        "doesn",
        "didn",
        "won",
        "isn",
        "aren",
        "cannot",
        "nor",
        "stop",
        "avoid",
        "hat",
        "dislik",
        "nicht",
        "kein",
        "keinen",
        "nie",
        "ohn",
        "pas",
        "jamai",
        "nunca",
    ]
)
_BETWEEN_CLAUSES = re.compile(
    r"[.!?;:,\n…。！？、，]|\s[–—-]\s|\b(?:but|though|although|aber|mais|pero)\b", re.IGNORECASE
)
# This is no "not" about what follows it.
_NOT_FORGET = re.compile(r"\b(?:do\s+not|don['’]?t|never)\s+forget\b", re.IGNORECASE)


def is_same(one: str, other: str) -> bool:
    """Whether two facts say the same in nearly the same words."""
    first, second = stems(one), stems(other)
    if not first or not second:
        return one.strip().casefold() == other.strip().casefold()
    return first == second


def is_alike(one: str, other: str) -> bool:
    """Whether two facts are so alike that who forgot one would not want the other either."""
    first, second = stems(one), stems(other)
    if not first or not second:
        return is_same(one, other)
    if (_TURNS_ROUND & set(first)) != (_TURNS_ROUND & set(second)) or _numbers(first) != _numbers(second):
        return False
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    # One word in the place of another says another thing: who moved still lives somewhere.
    is_other = any(tag == "replace" for tag, *_ in matcher.get_opcodes())
    return not is_other and matcher.ratio() >= _LIKE


def _numbers(words: Iterable[str]) -> set[str]:
    return {word for word in words if word.isnumeric()}


def is_supported(fact: str, said: str) -> bool:
    """Whether at least half of the words of a fact that carry its meaning were said in clauses that point
    the same way: none that is turned round bears out a fact that is not, and some one bears out one that is.
    """
    wanted = set(stems(fact))
    subject = wanted - _TURNS_ROUND
    clauses = [set(stems(clause)) for clause in _BETWEEN_CLAUSES.split(_NOT_FORGET.sub(" ", said))]
    if subject != wanted:
        if not any(clause & _TURNS_ROUND and clause & subject for clause in clauses):
            return False
        there = set().union(*clauses)
    else:
        there = set().union(*(clause for clause in clauses if not clause & _TURNS_ROUND))
    return not wanted or 2 * len(wanted & there) >= len(wanted)
