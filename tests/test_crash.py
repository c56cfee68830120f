"""Thirty kills at every kind of moment; `run.py bench crash` does three hundred."""

from pathlib import Path

from benchmarks.crash import MOMENTS, run


def test_thirty_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    fell = run(30, tmp_path, seed=30)
    assert set(fell) == set(MOMENTS)
    assert fell.total() == 30
