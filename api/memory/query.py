"""What memory is asked: the words of a text that tell one fact from another."""

import re
from collections.abc import Callable

QUERY_WORDS = 8
_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    [
        "the",
        "and",
        "for",
        "are",
        "was",
        "were",
        "but",
        "not",
        "you",
        "your",
        "with",
        "have",
        "has",
        "had",
        "this",
        "that",
        "what",
        "which",
        "when",
        "where",
        "who",
        "why",
        "how",
        "does",
        "did",
        "can",
        "could",
        "would",
        "should",
        "will",
        "shall",
        "may",
        "might",
        "must",
        "from",
        "into",
        "about",
        "there",
        "here",
        "their",
        "them",
        "they",
        "then",
        "than",
        "been",
        "being",
        "please",
        "tell",
        "know",
        "some",
        "any",
        "all",
        "one",
        "its",
        "our",
        "out",
        "just",
        "also",
        "very",
        "much",
        "more",
        "most",
    ]
)


def words_of(text: str) -> list[str]:
    """The words of a text, each once, in their order."""
    # Lowered as the index does it, which keeps "ß".
    return list(dict.fromkeys(_WORD.findall(text.lower())))


def telling_words(text: str, is_frequent: Callable[[str], bool] = lambda _word: False) -> list[str]:
    """The eight longest words of a text that are neither common nor `is_frequent`, in their order."""
    words = words_of(text)
    chosen: list[str] = []
    for word in sorted(words, key=len, reverse=True):
        if len(chosen) == QUERY_WORDS:
            break
        is_common = word in _COMMON or (len(word) < 3 and word.isascii())
        if not is_common and not is_frequent(word):
            chosen.append(word)
    return sorted(chosen, key=words.index)
