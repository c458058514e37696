"""Whether a host shows in a table's figures: one that is slower is told, chance is not."""

from __future__ import annotations

import random
from typing import Any

import pytest

from testbed.study.hosts import effects

HOSTS = ("m1", "m2", "m3")


def outcomes(seed: int, *, slower: float = 0.0, repetitions: int = 9, of: str = "m3") -> list[dict[str, Any]]:
    """Four cells that differ much, each run by whichever host was free, with a noise of 1%."""
    chance = random.Random(seed)
    made = []
    for row, level in (("a", 1.0), ("b", 10.0)):
        for column, factor in (("x", 1.0), ("y", 3.0)):
            for repetition in range(repetitions):
                host = chance.choice(HOSTS)
                part = 1 - slower if host == of else 1.0
                figures = {
                    "goodput_mib_s": level * factor * part * chance.gauss(1, 0.01),
                    "rtt_ms": 50 * chance.gauss(1, 0.01),
                }
                made.append(
                    {
                        "row": row,
                        "column": column,
                        "repetition": repetition,
                        "verdict": "pass",
                        "figures": figures,
                        "host": host,
                    }
                )
    return made


FIGURES = ("goodput_mib_s", "rtt_ms")


def test_a_host_that_is_slower_by_3_percent_is_told_and_only_where_it_is() -> None:
    found = {one.figure: one for one in effects.effects(outcomes(1, slower=0.03), FIGURES)}
    assert found["goodput_mib_s"].shows
    assert not found["rtt_ms"].shows
    shifts = found["goodput_mib_s"].shifts
    assert min(shifts, key=lambda host: shifts[host]) == "m3"
    said = effects.describe(outcomes(1, slower=0.03), FIGURES)
    assert "The host shows in goodput_mib_s" in said[1]
    assert "m3 -" in said[1]
    assert len(said) == 2


def test_chance_is_told_as_an_effect_as_seldom_as_the_level_says() -> None:
    alarms = sum(any(one.shows for one in effects.effects(outcomes(seed, slower=0), FIGURES)) for seed in range(300))
    assert alarms <= 300 * effects.LEVEL * 3


def test_cells_that_differ_are_no_effect_of_the_host_that_made_most_of_one() -> None:
    """Without regard to cells the slow cell would be taken for a slow host."""
    chance = random.Random(5)
    made = [
        {
            "row": row,
            "column": "x",
            "repetition": i,
            "verdict": "pass",
            "figures": {"goodput_mib_s": level * chance.gauss(1, 0.01)},
            "host": often if i % 5 else seldom,
        }
        for row, level, often, seldom in (("a", 1.0, "m1", "m2"), ("b", 10.0, "m2", "m1"))
        for i in range(20)
    ]
    assert [one.shows for one in effects.effects(made, FIGURES)] == [False]


def test_runs_that_do_not_count_tell_nothing() -> None:
    made = outcomes(1, slower=0.03)
    for one in made:
        if one["host"] == "m3":
            one["verdict"] = "untrusted"
    assert [set(one.shifts) for one in effects.effects(made, FIGURES)] == [{"m1", "m2"}] * 2
    assert not any(one.shows for one in effects.effects(made, FIGURES))


@pytest.mark.parametrize("spoil", [{"host": "m1"}, {"row": "one of each", "host": "m2"}])
def test_too_few_is_said(spoil: dict[str, Any]) -> None:
    made = outcomes(1)[:2]
    made[1] = {**made[1], **spoil}
    assert "Too few runs to tell" in effects.describe(made, FIGURES)[-1]


def test_figures_that_are_all_alike_are_no_effect() -> None:
    made = [{**one, "figures": {"goodput_mib_s": 5.0}} for one in outcomes(2)]
    assert [one.p for one in effects.effects(made, FIGURES)] == [1.0]
    assert "No effect of the host is shown (smallest p = 1)" in effects.describe(made, FIGURES)[-1]


def test_a_table_of_one_machine_says_nothing() -> None:
    made = [{key: value for key, value in one.items() if key != "host"} for one in outcomes(1)]
    assert effects.describe(made, FIGURES) == []
