"""What memory is asked: the words of a text that tell one fact from another."""

from collections.abc import Callable

from api.memory.wordlists import COMMON
from api.memory.words import pairs_in, words_in

QUERY_WORDS = 8


def words_of(text: str) -> list[str]:
    """The words of a text, each once, in their order."""
    return list(dict.fromkeys(words_in(text)))


def telling_words(text: str, is_frequent: Callable[[str], bool] = lambda _word: False) -> list[str]:
    """The eight longest words of a text that are neither common nor `is_frequent`, in their order."""
    words = list(dict.fromkeys(pairs_in(text)))
    chosen: list[str] = []
    for word in sorted(words, key=len, reverse=True):
        if len(chosen) == QUERY_WORDS:
            break
        is_common = word in COMMON or (len(word) < 3 and word.isascii())
        if not is_common and not is_frequent(word):
            chosen.append(word)
    return sorted(chosen, key=words.index)
