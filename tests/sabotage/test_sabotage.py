"""Every saboteur is put in, and must be caught at every level that it can reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sabotage.catalogue import ENTRIES
from tests.sabotage.entry import LEVELS, Entry
from tests.sabotage.lab import Lab, lab
from tests.sabotage.levels import LEVELS as ASK

_honest: dict[str, Path] = {}


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sabotage")


def honest_lab(bench: Path, scenario: str) -> Lab:
    """Where the scenario was repeated, and the table run, with nothing put in; made once in each process."""
    entry = Entry("honest", "control", "nothing", scenario=scenario)
    place = bench / f"honest-{scenario}"
    if scenario not in _honest:
        with lab(place, entry) as made:
            for level in ("repeat", "table"):
                assert ASK[level](made, entry, made) == "pass", made.place / "said.txt"  # type: ignore[index]
        _honest[scenario] = place
    return Lab(place, entry, pytest.MonkeyPatch())


@pytest.mark.parametrize("entry", [e for e in ENTRIES if not e.nightly], ids=lambda e: e.name)
def test_caught(entry: Entry, bench: Path) -> None:
    honest = honest_lab(bench, entry.scenario)
    asked = [level for level in LEVELS if entry.expects(level) is not None]
    with lab(bench / entry.name, entry) as made:
        came = {level: ASK[level](made, entry, honest) for level in asked}
    wrong = {level: word for level, word in came.items() if word != entry.expects(level)}
    assert not wrong, (
        f"{entry.name} ({entry.imitates}): {came}, expected {entry.expected}; {made.place / 'said.txt'}"
    )
