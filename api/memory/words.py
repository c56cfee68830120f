"""The words of a text, as every comparison and every index of memory takes them."""

import re
import unicodedata

# Chinese and Japanese are written without blanks: each of their letters stands as a word.
_LETTER = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_LETTER}]|(?:(?![{_LETTER}])\w)+[+#]*")
_RUN = re.compile(rf"[{_LETTER}]+|(?:(?![{_LETTER}])\w)+[+#]*")


def words_in(text: str) -> list[str]:
    """All words in their order, one way of writing for what looks the same."""
    # Lowered as the index does it, which keeps "ß".
    return _WORD.findall(plain(text))


def pairs_in(text: str) -> list[str]:
    """The same with two letters in a row as one word where there are no blanks: one alone tells little."""
    found: list[str] = []
    for run in _RUN.findall(plain(text)):
        is_spaced = len(run) == 1 or _WORD.fullmatch(run)
        found += [run] if is_spaced else [run[at : at + 2] for at in range(len(run) - 1)]
    return found


def indexed(text: str) -> str:
    """A text as it stands in an index of words: with blanks between all of them."""
    return " ".join(words_in(text))


def plain(text: str) -> str:
    """A text in lower case, with one way of writing for what looks the same."""
    return unicodedata.normalize("NFKC", text).lower()
