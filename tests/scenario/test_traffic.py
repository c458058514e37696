"""What is sent: one section of a scenario, its mistakes, and its place in the plan."""

from pathlib import Path
from typing import Any

import pytest

from testbed import engines, traffic
from testbed.errors import BadInput
from testbed.plan.duration import expected_transfer_s
from testbed.planning.resolve import Choices, resolve
from testbed.planning.show import plan_text
from testbed.runtime.collectors import watch_list
from testbed.scenario.load import load
from testbed.traffic.ncp import Ncp
from testbed.traffic.tcp import Tcp
from tests.raises import Containing, Said, raises

POLICIES: Any = {name: {"name": name, "cap_packets": None, "initial": "W/n"} for name in ("nkp24", "previous")}
WINDOW = """\
name: window
title: A window
links:
  - {name: path, rate: 50mbit, delay: 50ms}
tcp:
  kind: iperf3
  window: 64KiB
  for: 5s
checks:
  - {name: database, judge: points_stored}
"""


@pytest.fixture
def plan_of(tmp_path: Path):
    def plan_it(text: str = WINDOW, *assignments: str, **choices):
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return resolve(load(str(path), assignments), POLICIES, Choices(**choices), "20261122-000000-abcd")

    return plan_it


def test_a_tcp_scenario_has_a_session_in_the_shape_of_all(plan_of) -> None:
    plan = plan_of()
    (session,) = plan["sessions"]
    assert (plan["traffic"], plan["runtime"], session["transport"]) == ("tcp", "process", "tcp")
    assert session["policy"] == plan["tcp"]["congestion_control"] == "cubic"
    assert session["connections"][0]["sender"] == "198.18.1.1:5601"
    assert session["connections"][0]["receiver"] == "198.18.1.2:5201"
    assert plan["links"][0]["frame_bytes"] == 1514
    assert 5 < expected_transfer_s(plan) < plan["limits"]["transfer_s"]
    assert "h1 sends by iperf3 for 5 s, -w 65536, window scaling on" in plan_text(plan)
    assert plan["tcp"]["capture"] == "receiver"


def test_window_scaling_is_a_setting_of_both_hosts(plan_of) -> None:
    (session,) = plan_of(WINDOW, "tcp.window_scaling=false")["sessions"]
    for role in ("sender", "receiver"):
        assert session["sysctls"][role]["net.ipv4.tcp_window_scaling"] == "0"


def test_the_port_that_data_comes_from_is_watched(plan_of) -> None:
    plan = plan_of()
    watched = watch_list(plan, {"h1": "/a", "h2": "/b"}, "/c", traffic.of(plan).sockets(plan))["sockets"]
    assert [(s["role"], s["local"], s["remote"]) for s in watched] == [
        ("sender", "198.18.1.1:5601", "198.18.1.2:5201"),
        ("receiver", "198.18.1.2:5201", "198.18.1.1:5601"),
    ]


def test_the_traffic_chooses_what_runs_it(plan_of) -> None:
    assert issubclass(traffic.of(plan_of()), Tcp)
    assert traffic.of(resolve(load("startup"), POLICIES, Choices(), "20261122-000000-abcd")) is Ncp


FETCH = "\n".join(
    [*WINDOW.split("tcp:")[0].splitlines(), "tcp: {kind: fetch, objects: [4500B]}", "checks: [CHECK]", ""]
)


@pytest.mark.parametrize(
    ("text", "judge", "says"),
    [
        (WINDOW, "payload_intact", "use payload_captured"),
        (WINDOW.replace("  for: 5s", "  capture: sender"), "payload_captured", "use tcp.capture: receiver"),
        (WINDOW, "window_edges, count: 1", "about a download, not iperf3"),
        (FETCH, "payload_captured", "about iperf3, not fetch"),
    ],
)
def test_a_check_that_finds_nothing_in_this_traffic_is_refused(plan_of, text, judge, says) -> None:
    check = f"{{name: bytes, judge: {judge}}}"
    with pytest.raises(BadInput, match=f"checks.bytes: .*{says}"):
        plan_of(text.replace("{name: database, judge: points_stored}", check).replace("CHECK", check))


def test_a_fetch_has_a_number_of_bytes(plan_of) -> None:
    plan = plan_of(FETCH.replace("CHECK", "{name: bytes, judge: payload_intact}"), "tcp.rounds=3")
    assert plan["sessions"][0]["transfer_bytes"] == 3 * 4500


def test_virtual_time_has_no_kernel(plan_of) -> None:
    plan = plan_of(WINDOW, engine="sim", runtime="virtual", middle="model")
    (refused,) = engines.of(plan).unsupported(plan)
    assert refused == "tcp: it needs a kernel's TCP, which the simulator doesn't have"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "tcp:",
            "ncp: {policy: nkp24, transfer: 1MiB}\ntcp:",
            Said("scenario.several-traffics", known="ncp, tcp, ndn, program", said="ncp and tcp"),
        ),
        ("kind: iperf3", "kind: iperf", Said("input.wrong-type", field="tcp", known="download, fetch, iperf3")),
        ("for: 5s", "for: 5", Said("quantity.number-without-unit", field="tcp.for", number=5)),
        ("for: 5s", "for: 1500ms", Said("tcp.whole-seconds", field="tcp.for", seconds=1.5)),
        (
            "for: 5s",
            "fro: 5s",
            Said("input.unknown-key", field="tcp.fro", key="fro", guess=Containing("; did you mean 'for'")),
        ),
        ("for: 5s", "congestion_control: CUBIC", Said("input.wrong-type", field="tcp.congestion_control")),
        (
            "for: 5s",
            "sysctls: {sender: {kernel.pid_max: 1}}",
            Said("tcp.not-a-namespaces-sysctl", name="kernel.pid_max"),
        ),
        (
            "for: 5s",
            "routes: {receiver: {initrwd: 44}}",
            Said("tcp.no-such-route-option", option="initrwd", known=Containing("advmss, initcwnd, initrwnd")),
        ),
        (
            "  - {name: path",
            "  - {name: a, rate: 1mbit}\n  - {name: path",
            Said("traffic.one-path", key="links", number=2, traffic="tcp"),
        ),
        (
            "judge: points_stored",
            "judge: goodput, min: 0.5",
            Said(
                "check.of-other-traffic",
                judge="goodput",
                traffic="tcp",
                fitting=Containing("payload_captured, payload_"),
            ),
        ),
        (
            "checks:",
            "timeline: [{at: 1s, do: pause_read, connection: 1, for: 1s}]\nchecks:",
            Said("timeline.pause-without-ncp"),
        ),
    ],
)
def test_a_mistake_is_named(plan_of, old: str, new: str, says: Said) -> None:
    assert old in WINDOW
    with raises(BadInput, says):
        plan_of(WINDOW.replace(old, new, 1))
