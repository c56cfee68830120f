"""Forget by words: which facts a person means by a text."""

from collections.abc import Sequence

from api.errors import InvalidRequest
from api.memory.base import Fact, MemoryProvider
from api.memory.likeness import is_alike
from api.memory.words import words_in

CANDIDATES = 20


def forget(provider: MemoryProvider, text: str) -> Sequence[Fact]:
    """Delete the facts that say `text`, or the only one with all its words; which they were.

    Raises `InvalidRequest` with the candidates where several have those words and none says just that.
    """
    words = set(words_in(text))
    # The list finds the beginnings of words too.
    listed, _ = provider.facts(text, limit=CANDIDATES)
    found = [*provider.known([text]), *(fact for fact in listed if words <= set(words_in(fact.text)))]
    chosen = [fact for fact in found if fact.id == text or is_alike(fact.text, text)]
    if not chosen and len(found) > 1:
        lines = "\n".join(f"- {fact.text}" for fact in found)
        raise InvalidRequest(f"Several facts have these words; say more of the one you mean:\n{lines}")
    for fact in chosen or found:
        provider.delete(fact.id)
    return chosen or found
