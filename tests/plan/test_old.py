"""Plans of schema 1: read as today's, and compared with what they have."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from testbed.judge.verify import differences
from testbed.plan.read import as_in, current, read_plan
from tests.checks.generate import make_plan
from topologies.link import rate_pps

PPS = 102.4
"""Which is no whole number of bits per second."""


def today() -> Any:
    plan = copy.deepcopy(make_plan())
    plan["links"][1]["rate_bps"] = 879001.6
    rate: Any = {"rate_bps": 1000000.25}
    action = {"kind": "set", "at_s": 1.0, "text": "", "link": "slow", "direction": "both", "properties": rate}
    return {**plan, "timeline": [action, {"kind": "carrier", "at_s": 2.0, "text": "", "link": "fast", "up": False}]}


def before() -> Any:
    plan = today()
    plan["schema"] = 1
    for link, pps in zip(plan["links"], (1024.0, PPS), strict=True):
        link |= {"rate_bps": round(link["rate_bps"]), "rate_pps": pps}
    plan["timeline"][0]["properties"]["rate_bps"] = 1000000
    return plan


def read(plan: Any, folder: Path) -> Any:
    (folder / "plan.json").write_text(json.dumps(plan))
    return read_plan(folder / "plan.json")


def test_its_rates_are_read_unrounded(tmp_path: Path) -> None:
    found = read(before(), tmp_path)
    assert found["links"] == today()["links"]
    assert [rate_pps(link) for link in found["links"]] == [1024.0, PPS]
    assert type(found["links"][0]["rate_bps"]) is int
    assert found["schema"] == today()["schema"]
    assert found["timeline"] == before()["timeline"], "of which nothing tells what was rounded"


def test_a_rate_in_bits_stays_though_packets_per_second_are_no_round_number(tmp_path: Path) -> None:
    plan = before()
    plan["links"][0] |= {"rate_bps": 20_000_000, "rate_pps": 20e6 / 1073 / 8}
    assert read(plan, tmp_path)["links"][0]["rate_bps"] == 20_000_000


def test_a_plan_of_today_is_compared_with_what_it_has() -> None:
    assert list(differences("", before(), as_in(before(), today()))) == []
    assert as_in(today(), today()) == today()
    assert list(differences("", before(), today()))


@pytest.mark.parametrize(("key", "value"), [("rate_pps", 102.5), ("rate_bps", 879003)])
def test_a_rate_that_was_changed_afterwards_is_named(tmp_path: Path, key: str, value: float) -> None:
    forged = before()
    forged["links"][1][key] = value
    (found,) = differences("", forged, as_in(forged, today()))
    assert found.details["where"] == f"links[slow].{key}"
    assert read(forged, tmp_path)["links"][1]["rate_bps"] == forged["links"][1]["rate_bps"]


@pytest.mark.parametrize("document", [None, [], {"schema": 2}, {"schema": True}, {"schema": "1"}, {"links": 7}])
def test_what_is_no_plan_of_it_is_left_alone(document: Any) -> None:
    assert current(document) is document


@pytest.mark.parametrize("links", [7, [7], [{}], [{"rate_bps": "8", "rate_pps": 1, "frame_bytes": 1}]])
def test_what_is_wrong_in_it_is_left_to_who_checks_it(links: Any) -> None:
    assert current({"schema": 1, "links": links}) == {"schema": 2, "links": links}


@pytest.mark.parametrize("pps", [float("inf"), float("nan"), -1.0])
def test_a_rate_in_packets_that_is_none_is_dropped(pps: float) -> None:
    link = {"rate_bps": 8584, "rate_pps": pps, "frame_bytes": 1073}
    assert current({"schema": 1, "links": [link]})["links"] == [{"rate_bps": 8584, "frame_bytes": 1073}]
