"""What is sampled in a run, from its plan: every end of every link, every socket that carries data."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed import traffic
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.runtime.collectors import watch_list
from testbed.scenario.load import load
from tests.plan.test_resolve import POLICIES


def plan_of(scenario: str, *assignments: str, **choices: Any) -> Plan:
    return resolve(load(scenario, assignments), POLICIES, replace(Choices(), **choices), new_run_id())


def watched(plan: Plan) -> dict[str, Any]:
    hosts = {end["host"] for link in plan["links"] for end in (link["a"], link["b"])}
    namespaces = {host: f"/run/netns/{host}" for host in hosts}
    return watch_list(plan, namespaces, "/run/netns/fabric", traffic.of(plan).sockets(plan))


def test_every_end_of_every_link_has_the_direction_of_its_egress() -> None:
    found = watched(plan_of("startup", middle="relay"))
    ends = {(end["host"], end["interface"], end["link"], end["direction"]) for end in found["interfaces"]}
    assert ("h1", "h1-eth1", "fast", "ab") in ends
    assert ("h2", "h2-eth1", "fast", "ba") in ends
    assert ("fabric", "l1b", "fast", "ab") in ends
    assert ("fabric", "l2a", "slow", "ba") in ends
    assert len(ends) == 4 * 2
    assert found["netem"] == []
    assert {end["host"] for end in found["interfaces"]} <= set(found["namespaces"])


def test_netem_with_a_queue_in_the_middle_has_interfaces_of_its_own() -> None:
    found = watched(plan_of("dumbbell", middle="netem"))
    core = [way for way in found["netem"] if way["link"] == "core"]
    shaped = [way for way in found["netem"] if way["link"] != "core"]
    assert [(way["direction"], way["delay"][-1], way["queue"][-1]) for way in core] == [
        ("ab", "b", "x"),
        ("ba", "a", "y"),
    ]
    assert shaped
    assert {way["queue"] for way in shaped} <= {""}
    assert {way["queue"] for way in core} <= {end["interface"] for end in found["interfaces"]}


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_both_ends_of_every_connection(transport: str) -> None:
    plan = plan_of("startup", f"ncp.transport={transport}")
    sockets = watched(plan)["sockets"]
    assert Counter((s["flow"], s["role"], s["host"]) for s in sockets) == {
        (f"s1-{number}", role, host): 1 for number in (1, 2) for role, host in (("sender", "h1"), ("receiver", "h2"))
    }
    assert {s["protocol"] for s in sockets} == {transport}
    for sender in (s for s in sockets if s["role"] == "sender"):
        receiver = next(s for s in sockets if s["flow"] == sender["flow"] and s["role"] == "receiver")
        assert (sender["local"], sender["remote"]) == (receiver["remote"], receiver["local"])
        assert sender["local"].endswith(":0") == (transport == "tcp")


def test_the_data_of_cross_traffic() -> None:
    plan = plan_of("dumbbell")
    sockets = [s for s in watched(plan)["sockets"] if s["flow"] == "iperf3-1"]
    assert {(s["role"], s["protocol"], s["session"]) for s in sockets} == {
        ("sender", "tcp", ""),
        ("receiver", "tcp", ""),
    }
    assert len({s["local"] for s in sockets}) == 2


def test_the_collector_reads_it(tmp_path: Path) -> None:
    """Names are the collector's: it refuses any other."""
    text = json.dumps(watched(plan_of("dumbbell", middle="netem")))
    source = (Path(__file__).parents[2] / "collectors" / "watch" / "watch.go").read_text()
    keys = {key for part in json.loads(text).values() if isinstance(part, list) for item in part for key in item}
    assert {key for key in keys if f'`json:"{key}"`' not in source} == set()
