"""Reference results in virtual time come out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import plans, reference, text
from tests.golden.test_golden import NKP24
from tests.sabotage.lab import simulator_of

SIMULATED = reference.runs("sim")
IN_GUESTS = reference.runs("vkernel")


def difference(name: str, scratch: Path) -> str:
    run = SIMULATED[name]
    return text.difference(name, (run / reference.WINDOWS).read_text(), reference.windows_again(run, scratch))


def test_they_are_all_there() -> None:
    assert (len(SIMULATED), len(IN_GUESTS)) == (11, 12)


@pytest.mark.parametrize("name", SIMULATED)
def test_windows_of_a_simulation_are_the_same_bytes(name: str, tmp_path: Path) -> None:
    assert not (found := difference(name, tmp_path)), found


def test_other_windows_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plans.programs().binaries, "ncp-sim", simulator_of((NKP24,), tmp_path))
    (tmp_path / "again").mkdir()
    found = difference("startup", tmp_path / "again")
    assert found.count("\n-") > 10
