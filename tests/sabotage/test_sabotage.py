"""Every saboteur is put in, and must be caught at every level that it can reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sabotage.catalogue import ENTRIES
from tests.sabotage.entry import CLASSES, LEVELS, Entry, Level, Swap, Word
from tests.sabotage.lab import Lab, lab, simulator_of
from tests.sabotage.levels import LEVELS as ASK
from tests.sabotage.page import PAGE, expected, with_table

pytestmark = pytest.mark.timeout(1200)
"""Each entry makes and judges a dozen runs: seconds, or on a machine that others use minutes."""
_honest: dict[tuple[object, ...], Lab] = {}


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sabotage")


def honest_lab(bench: Path, entry: Entry) -> Lab:
    """Where what the entry is compared with, or changes afterwards, was made with nothing put in; once in each process.

    A run that is forged has its page; what is untrusted stays so: to call it trusted is the forgery.
    """
    forged = entry.forged is not None and not entry.of_table
    honest = Entry("honest", "control", "nothing", real=entry.real if forged else None, scenario=entry.scenario)
    key = (honest.scenario, honest.real, forged)
    if key not in _honest:
        with lab(bench / f"honest-{len(_honest)}", honest, pages=forged) as made:
            for level in ("run",) if forged else ("repeat", "table"):
                ASK[level](made, honest, made)  # type: ignore[index]
        _honest[key] = made
    return _honest[key]


def came_of(entry: Entry, bench: Path) -> dict[Level, Word]:
    """The verdict at each level that the entry can reach."""
    honest = honest_lab(bench, entry)
    pages = entry.forged is not None and not entry.of_table
    with lab(bench / entry.name, entry, pages=pages) as made:
        return {level: ASK[level](made, entry, honest) for level in LEVELS if entry.expects(level)}


def reached(entry: Entry) -> set[tuple[object, ...]]:
    """What an entry shows: that one of its class is caught at a level, and that one is that is put in in its way."""
    ways = [bool(way) for way in (entry.swaps, entry.data, entry.real, entry.python, entry.only_seed, entry.forged)]
    put_in = (entry.of, entry.scenario, entry.expected, *ways, entry.in_bundle, entry.of_table)
    return {put_in, *((entry.of, level, entry.expects(level)) for level in LEVELS if entry.expects(level))}


def on_push() -> list[Entry]:
    """The first entries that show all that the whole catalogue shows; the others are for the night."""
    shown: set[tuple[object, ...]] = set()
    chosen = []
    for entry in ENTRIES:
        if reached(entry) - shown:
            chosen.append(entry)
            shown |= reached(entry)
    return chosen


ON_PUSH = on_push()


def test_those_of_a_push_are_of_each_class_level_and_way() -> None:
    every, chosen = (set().union(*map(reached, entries)) for entries in (ENTRIES, ON_PUSH))
    assert every == chosen
    assert {entry.of for entry in ON_PUSH} == set(CLASSES)
    assert 30 <= len(ON_PUSH) < 45


@pytest.mark.parametrize(
    "entry", [pytest.param(e, marks=() if e in ON_PUSH else pytest.mark.nightly, id=e.name) for e in ENTRIES]
)
def test_caught(entry: Entry, bench: Path) -> None:
    came = came_of(entry, bench)
    wrong = {level: word for level, word in came.items() if word != entry.expects(level)}
    assert not wrong, f"{entry.name}, {entry.imitates}: {came}; {bench / entry.name / 'said.txt'}"


def test_there_are_enough_of_each_class() -> None:
    assert len(ENTRIES) >= 60
    assert {entry.of for entry in ENTRIES} == set(CLASSES)
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


def test_the_page_has_the_table_of_the_catalogue() -> None:
    text = with_table({entry: expected(entry) for entry in ENTRIES})
    assert PAGE.read_text(encoding="utf-8") == text, "python -m tests.sabotage.page writes the table anew"


def test_a_replacement_that_finds_nothing_is_loud(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="exactly once, has 0"):
        simulator_of((Swap("ncp-agent/policy/nkp24.go", "no such text", ""),), tmp_path)
