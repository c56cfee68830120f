"""When two sentences say the same: compared by the words that carry their meaning, in their order."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

from api.memory.wordlists import FILLERS, PAST, TURNS_ROUND, WISH
from api.memory.words import plain, words_in

_LIKE = 0.75


def stems(text: str) -> list[str]:
    """The words of a text that carry its meaning, without their endings, in order."""
    return [_stem(word.casefold()) for word in words_in(text) if word not in FILLERS]


def _stem(word: str) -> str:
    for ending in ("ences", "ence", "ings", "ing", "ies", "ed", "es", "s"):
        if len(word) - len(ending) >= 3 and word.endswith(ending) and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word


_TURNS = frozenset(_stem(word) for word in TURNS_ROUND) | TURNS_ROUND
# Where the turn is no word of its own.
_TURNED_ENDING = re.compile(r"ない|なかった|ません|않|없|못")
_BETWEEN_CLAUSES = re.compile(
    r"[.!?;:,\n…。！？、，]|\s[–—-]\s|\b(?:but|though|although|aber|mais|pero)\b", re.IGNORECASE
)
# This is no "not" about what follows it.
_NOT_FORGET = re.compile(r"\b(?:do\s+not|don['’]?t|never)\s+forget\b", re.IGNORECASE)


def is_same(one: str, other: str) -> bool:
    """Whether two facts say the same in nearly the same words."""
    first, second = stems(one), stems(other)
    if not first or not second:
        return plain(one).strip() == plain(other).strip()
    return first == second and _shades(one) == _shades(other)


def is_alike(one: str, other: str) -> bool:
    """Whether two facts are so alike that who forgot one would not want the other either."""
    first, second = stems(one), stems(other)
    if not first or not second:
        return is_same(one, other)
    if (_TURNS & set(first)) != (_TURNS & set(second)) or _numbers(first) != _numbers(second):
        return False
    if _shades(one) != _shades(other):
        return False
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    # One word in the place of another says another thing: who moved still lives somewhere.
    steps = matcher.get_opcodes()
    is_other = any(tag == "replace" for tag, *_ in steps)
    # Words that have changed places may say the opposite: tea rather than coffee.
    taken = {word for tag, start, end, *_ in steps if tag == "delete" for word in first[start:end]}
    added = {word for tag, _, _, start, end in steps if tag == "insert" for word in second[start:end]}
    return not is_other and not taken & added and matcher.ratio() >= _LIKE


def _shades(text: str) -> tuple[bool, bool, bool]:
    """Whether a statement is about the past, is a wish, is turned round by an ending."""
    words = {word.casefold() for word in words_in(text)}
    return bool(words & PAST), bool(words & WISH), _TURNED_ENDING.search(text) is not None


def _numbers(words: Iterable[str]) -> set[str]:
    return {word for word in words if word.isnumeric()}


def is_supported(fact: str, said: str) -> bool:
    """Whether at least half of the words of a fact that carry its meaning were said in clauses that point
    the same way: none that is turned round bears out a fact that is not, and some one bears out one that is.
    """
    wanted = set(stems(fact))
    texts = _BETWEEN_CLAUSES.split(_NOT_FORGET.sub(" ", said))
    clauses = [(set(stems(text)), _is_turned(text)) for text in texts]
    if _is_turned(fact):
        subject = wanted - _TURNS
        if not any(is_turned and words & subject for words, is_turned in clauses):
            return False
        there = set().union(*(words for words, _ in clauses))
    else:
        there = set().union(*(words for words, is_turned in clauses if not is_turned))
    return not wanted or 2 * len(wanted & there) >= len(wanted)


def _is_turned(text: str) -> bool:
    return bool(_TURNS & set(stems(text))) or _TURNED_ENDING.search(text) is not None
