"""What can't be carried with hosts on other machines is refused by name, before a machine is asked."""

from typing import Any

import pytest

from testbed.judge.trust.underlay import Underlay
from testbed.remote.refusals import refusals, too_short

WAYS = {("", "m1"): Underlay("m1", 200, 0, 5.0, 5.5, 4.9, 0)}


def plan(**changes: Any) -> Any:
    link = {"name": "fast", "a": {"host": "h1"}, "b": {"host": "h2"}, "delay_ms": 50.0}
    return {
        "place": {"h1": "m1", "h2": "m1"},
        "traffic": "ncp",
        "sessions": [{}],
        "runtime": "docker",
        "middle": "relay",
        "cross_traffic": [],
        "checks": [],
        "timeline": [],
        "links": [link],
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"checks": [{"name": "c", "judge": "protocol_kept"}]},
            "protocol_kept is about packets at hosts of this machine",
        ),
        ({"traffic": "tcp"}, "tcp is sent between hosts of this machine only"),
        ({"sessions": [{"carrier": "mptcp"}]}, "between hosts of this machine only"),
        ({"runtime": "process"}, "--runtime process has none"),
        ({"middle": "netem"}, "give --link relay"),
        ({"traces": {"pcap": ["fast"]}}, "--pcap"),
    ],
)
def test_a_line_for_each_thing(changes: dict[str, Any], said: str) -> None:
    (line,) = refusals(plan(**changes))
    assert said in line
    assert refusals(plan(**changes, place={})) == [], "with all hosts here"


def test_nothing_is_refused_that_can_be_carried() -> None:
    pause = {"kind": "pause_read", "connection": 1, "for_s": 1.0}
    loss = {"kind": "set", "link": "fast", "at_s": 1.0, "properties": {"loss": 1.0}}
    plug = {"kind": "carrier", "link": "fast", "at_s": 1.0, "up": False}
    rate = {"kind": "set", "link": "fast", "at_s": 1.0, "properties": {"rate_bps": 1}}
    assert refusals(plan(timeline=[pause, loss, plug, rate], cross_traffic=[{}])) == []


def test_a_link_that_is_shorter_than_what_is_below_it_is_named() -> None:
    assert too_short(plan(), WAYS) == []
    links = plan()["links"]
    (said,) = too_short(plan(links=[{**links[0], "delay_ms": 10.9}]), WAYS)
    assert said == (
        "link fast: delay 10.9 ms is shorter than the underlay path to m1 and to m1 below it, "
        "which takes up to 11.00 ms (p99)"
    )
    assert too_short(plan(place={"h1": "m1"}, links=[{**links[0], "delay_ms": 10.9}]), WAYS) == []
    assert too_short(plan(links=[{**links[0], "jitter_ms": 40.0}]), WAYS), "at its shortest"


def test_what_is_below_a_link_is_between_the_machines_of_its_ends() -> None:
    """Not the way to the machine that leads the run, which its frames don't take."""
    own = {"place": {"h1": "m1", "h2": "m2"}, "middles": {"fast": "m2"}}
    ways = {**WAYS, ("", "m2"): WAYS["", "m1"], ("m1", "m2"): Underlay("m2", 200, 0, 1.0, 1.5, 0.9, 0, "m1")}
    links = plan()["links"]
    assert too_short(plan(links=[{**links[0], "delay_ms": 1.5}], **own), ways) == []
    (said,) = too_short(plan(links=[{**links[0], "delay_ms": 1.4}], **own), ways)
    assert "is shorter than the underlay path between m1 and m2 below it, which takes up to 1.50 ms (p99)" in said
    on_one = {"place": {"h1": "m1", "h2": "m1"}, "middles": {"fast": "m1"}}
    assert too_short(plan(links=[{**links[0], "delay_ms": 0.0}], **on_one), ways) == [], "nothing is below it"


def test_nor_may_an_event_make_it_so() -> None:
    event = {"kind": "set", "link": "fast", "at_s": 7.0, "properties": {"delay_ms": 2.0}}
    (said,) = too_short(plan(timeline=[event]), WAYS)
    assert said.startswith("link fast: delay at 7 s 2 ms is shorter")
