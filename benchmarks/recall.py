"""What it costs to recall: questions of forty words among ten thousand facts.

`python3 run.py bench recall` prints how long one recall of the local memory takes, for words that are as
uneven as those of a language, and for words each of which nearly too many facts hold. Half of the questions
must be answered within 5 ms.
"""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from api.clock import Clock
from api.memory.base import KINDS, RECALL_LIMIT, Fact
from api.memory.local import LocalMemory

FACTS, WORDS_OF_A_FACT, WORDS_OF_A_QUESTION = 10_000, 12, 40
QUESTIONS = 200
LONGEST_S = 0.005
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def vocabulary(chance: random.Random, size: int) -> list[str]:
    """Words of two to twelve letters."""
    return ["".join(chance.choices(LETTERS, k=chance.randint(2, 12))) for _ in range(size)]


class Language:
    """Texts of `size` words; in an uneven one the first word comes far more often than the last."""

    def __init__(self, name: str, size: int, is_even: bool) -> None:
        self.name = name
        self._chance = random.Random(1)
        self._words = vocabulary(self._chance, size)
        self._is_even = is_even

    def text(self, length: int) -> str:
        return " ".join(self._words[self._rank()] for _ in range(length))

    def _rank(self) -> int:
        size = len(self._words)
        return self._chance.randrange(size) if self._is_even else int(size ** self._chance.random()) - 1


LANGUAGES = (Language("uneven words", 5000, False), Language("words just rare enough", 700, True))


def fill(memory: LocalMemory, language: Language) -> None:
    with memory._store.change() as facts:
        for number in range(FACTS):
            kind = KINDS[number % len(KINDS)]
            facts.insert(Fact("", language.text(WORDS_OF_A_FACT), kind), is_own=True)


def costs(memory: LocalMemory, language: Language) -> Iterator[float]:
    for _ in range(QUESTIONS):
        question = language.text(WORDS_OF_A_QUESTION)
        before = time.perf_counter()
        found = memory.recall(question, "", RECALL_LIMIT)
        yield time.perf_counter() - before
        assert len(found) == RECALL_LIMIT


def measure(language: Language) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        memory = LocalMemory(Path(folder), Clock())
        fill(memory, language)
        spent = list(costs(memory, language))
        memory.close()
    half, most = statistics.median(spent), statistics.quantiles(spent, n=20)[-1]
    is_fast = half <= LONGEST_S
    print(f"{language.name}: {QUESTIONS} questions of {WORDS_OF_A_QUESTION} words among {FACTS} facts")
    print(f"  p50 {1000 * half:.2f} ms, at most {1000 * LONGEST_S:.0f} ms {'ok' if is_fast else 'TOO MUCH'}")
    print(f"  p95 {1000 * most:.2f} ms", flush=True)
    return is_fast


def main() -> int:
    results = [measure(language) for language in LANGUAGES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
