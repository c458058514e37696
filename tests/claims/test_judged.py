"""What a judged claim tells: its part of the whole, how many runs it stands on, its row, and its sentence."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.judge.status import Status
from testbed.study.checks import claims as judged
from testbed.study.checks.claims import Judged

CLAIM = Judged(
    id="x",
    source="them",
    kind="claim",
    text="t",
    verdict=Status.PASS,
    reason="r",
    run="start",
    command="c",
    check="k",
    published="8",
    expected="e",
    tolerance="5%",
    why="w",
    reproduces=True,
    value=8.0,
    measured="7.9 MiB/s",
    n=6,
    figures={"1 nkp24": 7.9},
    observations=6,
    intervals={"1 nkp24": (7.5, 8.5, 0.969)},
    result="runs/start",
    report="runs/start/report.html",
)


@pytest.mark.parametrize(
    ("verdict", "reproduces", "part"),
    [
        ("pass", True, "pass"),
        ("pass", False, "fail"),
        ("fail", True, "fail"),
        ("fail", False, "pass"),
        ("error", True, "error"),
        ("error", False, "error"),
        ("untrusted", True, "untrusted"),
        ("inconclusive", True, "inconclusive"),
        ("unsupported", True, "unsupported"),
        ("insufficient-data", True, "insufficient-data"),
        ("skipped", True, "skipped"),
    ],
)
def test_what_a_claim_is_to_the_whole(verdict: Any, reproduces: bool, part: str) -> None:
    found = replace(CLAIM, verdict=verdict, reproduces=reproduces)
    assert found.as_json()["asked"] is (verdict != "skipped")
    assert found.part == part
    assert found.as_known is {"pass": reproduces, "fail": not reproduces}.get(verdict)


@pytest.mark.parametrize(
    ("intervals", "level"),
    [
        ({}, None),
        ({"a": (1.0, 2.0, 0.75)}, 0.75),
        ({"a": (1.0, 2.0, 0.97), "b": (1.0, 2.0, 0.75)}, 0.75),
        ({"a": (1.0, 2.0), "b": (1.0, 2.0, 0.75)}, None),
        ({"a": (1.0, 2.0)}, None),
    ],
)
def test_the_level_of_a_claim_is_the_least_of_its_intervals(intervals: dict[str, Any], level: float | None) -> None:
    assert replace(CLAIM, intervals=intervals).level == level


@pytest.mark.parametrize(
    ("n", "observations", "intervals", "told"),
    [
        (None, None, {}, ""),
        (6, 6, {"a": (1.0, 2.0, 0.969)}, "6: 97%"),
        (3, 1, {}, "3: one"),
        (2, 2, {}, "2"),
        (1, 1, {}, "1"),
        (None, 1, {}, ""),
        (3, 1, {"a": (1.0, 2.0, 0.75)}, "3: 75%"),
        (3, 2, {}, "3"),
    ],
)
def test_what_so_many_runs_are_worth_is_told(
    n: int | None, observations: int | None, intervals: dict[str, Any], told: str
) -> None:
    found = replace(CLAIM, n=n, observations=observations, intervals=intervals)
    assert found.n_told == told
    assert found.is_one_observation is (told == "3: one")


def test_a_claim_is_read_as_it_was_written() -> None:
    document = json.loads(json.dumps(CLAIM.as_json()))
    assert document["as_known"] is True
    assert Judged(**document) == CLAIM


def test_each_kind_of_claim_that_was_not_decided_is_told() -> None:
    words: tuple[Any, ...] = ("insufficient-data", "unsupported", "inconclusive", "error", "untrusted", "pass", "fail")
    claims = [replace(CLAIM, verdict=word) for word in words]
    claims += [replace(CLAIM, verdict=Status.SKIPPED)] * 2
    assert judged.decided_of(claims) == (
        "2 of 9 claims decided; not decided: 1 untrusted, 1 error, 1 unsupported, 1 insufficient-data, "
        "1 inconclusive, 2 skipped"
    )
    assert judged.decided_of([CLAIM, CLAIM]) == "2 of 2 claims decided"


def test_the_sentence_about_all_claims() -> None:
    fails = replace(CLAIM, verdict=Status.FAIL, reproduces=False)
    claims = [
        CLAIM,
        replace(CLAIM, kind="changed"),
        fails,
        fails,
        replace(fails, kind="beyond"),
        replace(CLAIM, id="odd", verdict=Status.FAIL),
        replace(CLAIM, id="new", reproduces=False),
    ]
    assert judged.summary_of(claims) == (
        "3 of 7 claims hold, 1 of them with something changed; 2 do not reproduce, as is known; "
        "otherwise than known: odd, new; "
        "7 of 7 claims decided (2 pass, 3 xfail, 1 xpass, 1 fail)."
    )
    assert judged.summary_of([CLAIM]) == "1 of 1 claims hold; 1 of 1 claims decided."


def test_a_row_has_the_figures_of_a_claim_and_of_other_engines_beside_it(tmp_path: Path) -> None:
    beside = {"sim": {"verdict": "pass", "measured": "8.1", "n": 1, "difference": "+2%"}}
    several = replace(
        CLAIM,
        id="y",
        figures={"a": 1.0, "b": 2.0},
        intervals={"a": (0.5, 1.5, 0.75), "b": (1.5, 2.5, 0.75)},
        value=None,
        verdict=Status.INCONCLUSIVE,
        measured="μ",
        beside=beside,
    )
    none = replace(CLAIM, id="z", intervals={})
    judged.write_csv([CLAIM, several, none], tmp_path / "claims.csv")
    text = (tmp_path / "claims.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0].split(",") == [
        "id",
        "source",
        "kind",
        "verdict",
        "reproduces",
        "as_known",
        "published",
        "value",
        "expected",
        "tolerance",
        "measured",
        "n",
        "observations",
        "low",
        "high",
        "level",
        "run",
        "check",
        "command",
        "result",
        "text",
        "reason",
        "sim_verdict",
        "sim_measured",
        "sim_n",
        "sim_difference",
    ]
    with (tmp_path / "claims.csv").open(newline="", encoding="utf-8") as file:
        one, two, three = csv.DictReader(file)
    assert (one["id"], one["low"], one["high"], one["level"], one["value"]) == ("x", "7.5", "8.5", "0.969", "8.0")
    assert (one["as_known"], one["sim_verdict"], one["n"]) == ("True", "", "6")
    assert (two["low"], two["high"], two["level"], two["value"], two["as_known"]) == ("", "", "0.75", "", "")
    assert (two["measured"], two["sim_verdict"], two["sim_n"], two["sim_difference"]) == ("μ", "pass", "1", "+2%")
    assert (three["low"], three["high"], three["level"]) == ("", "", "")
    assert len(text.splitlines()) == 4
    assert "\n\n" not in text.replace("\r", "")
