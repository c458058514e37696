"""More than anybody has asked for yet, in virtual time: what comes out of it is right, and memory has an end."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest

from testbed.judge.checks.result import Verdict
from testbed.planning.resolve import Choices, resolve
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from tests.ready import simulated as prepare
from tests.tables.small_table import POLICIES

MOST_MEMORY_KIB = 3 << 20


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of its own, and no database."""
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")


def written(file: Path, **sections: Any) -> str:
    """A scenario's file with these sections (JSON is YAML)."""
    common = {"name": "load", "title": "Load", "checks": [{"name": "payload", "judge": "payload_intact"}]}
    file.write_text(json.dumps(common | sections))
    return str(file)


def simulated(name: str) -> Verdict:
    """What becomes of it in the simulator, within the memory that this and its children may take; without a page."""
    verdict = prepare(load(name), Progress(), seed=None, quick=False).without_database(None)
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        assert resource.getrusage(who).ru_maxrss < MOST_MEMORY_KIB
    return verdict


def two_links(file: Path, packets: int) -> str:
    return written(
        file,
        topology="parallel",
        links=[{"name": name, "rate": "500000pps", "delay": "1ms"} for name in ("a", "b")],
        ncp={"policy": "nkp24", "transfer": f"{packets}KiB", "send_window": "64MiB", "mtu": 1024},
    )


def sessions(file: Path, number: int) -> str:
    """So many sessions of two hosts each, over one bottleneck."""
    return written(
        file,
        topology="dumbbell",
        links=[{"name": "core", "rate": "10000pps", "delay": "20ms", "queue": {"limit": "2x bdp", "mode": "droptail"}}],
        ncp={"policy": "nkp24", "transfer": "256KiB", "send_window": "64KiB", "mtu": 1024},
        sessions=[{"name": f"s{n}", "connections": 2} for n in range(1, number + 1)],
        checks=[{"name": f"payload {n}", "judge": "payload_intact", "session": f"s{n}"} for n in range(1, number + 1)],
    )


def test_a_hundred_agents_and_two_hundred_links_are_a_plan_for_real_packets(tmp_path: Path) -> None:
    plan = resolve(load(sessions(tmp_path / "s.yaml", 100)), POLICIES, Choices(), "20261122-000000-abcd")
    assert (len(plan["sessions"]), len(plan["hosts"]), len(plan["links"])) == (100, 200, 201)
    ends = [end for link in plan["links"] for end in (link["a"], link["b"])]
    for names in (
        [host["management_address"] for host in plan["hosts"]],
        [end["address"] for end in ends],
        [end["middle_interface"] for end in ends],
    ):
        assert len(set(names)) == len(names)
    assert all(int(host["management_address"].rsplit(".", 1)[1]) < 255 for host in plan["hosts"])


def test_sixty_four_connections_of_a_session(tmp_path: Path) -> None:
    name = written(
        tmp_path / "c.yaml",
        topology="parallel",
        links=[{"name": f"l{n}", "rate": "1000pps", "delay": "5ms"} for n in range(1, 65)],
        ncp={"policy": "nkp24", "transfer": "4MiB", "send_window": "4MiB", "mtu": 1024},
    )
    verdict = simulated(name)
    assert (verdict.verdict, len(verdict.checks)) == ("pass", 1)


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_two_hundred_agents(tmp_path: Path) -> None:
    verdict = simulated(sessions(tmp_path / "s.yaml", 100))
    assert (verdict.verdict, len(verdict.checks)) == ("pass", 100)


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_a_hundred_million_packets(tmp_path: Path) -> None:
    verdict = simulated(two_links(tmp_path / "p.yaml", 10**8))
    assert verdict.verdict == "pass", verdict.summary
