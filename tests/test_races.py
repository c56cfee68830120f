"""Twenty races of an undo; `run.py bench races` runs three hundred."""

from pathlib import Path

from benchmarks.races import run


def test_an_undo_that_races_with_a_draft_a_rename_and_a_list_stays(tmp_path: Path) -> None:
    assert run(20, tmp_path, seed=20) == 20
