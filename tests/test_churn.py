"""A hundred chats on one server; `run.py bench churn` uses a thousand."""

from pathlib import Path

from benchmarks.churn import run


def test_a_server_does_not_grow_with_the_chats_it_has_seen(tmp_path: Path) -> None:
    first, last = run(120, tmp_path)
    assert last.is_within(first), (first, last)
