"""Which host is on which machine, as asked, else by what hosts send and links delay; and the middle of which link."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import BadInput
from testbed.plan.place import HERE, in_words, middles, placed, way_between, ways_below
from tests.raises import Said


def link(a: str, b: str, rate_bps: float = 1_000_000, *, name: str = "", delay_ms: float = 50.0) -> Any:
    return {
        "name": name or f"{a}-{b}",
        "a": {"host": a},
        "b": {"host": b},
        "rate_bps": rate_bps,
        "frame_bytes": 1250,
        "delay_ms": delay_ms,
    }


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[str], list[Any], list[str], dict[str, str]]:
    hosts = [f"h{n}" for n in range(draw(st.integers(2, 12)))]
    machines = [f"m{n}" for n in range(draw(st.integers(1, 5)))]
    one = st.sampled_from(hosts)
    ends = draw(st.lists(st.tuples(one, one, st.integers(1, 10**9), st.floats(0, 500)), min_size=1, max_size=20))
    asked = draw(st.dictionaries(one, st.sampled_from(machines)))
    return (
        hosts,
        [link(a, b, rate, name=f"l{n}", delay_ms=ms) for n, (a, b, rate, ms) in enumerate(ends)],
        machines,
        asked,
    )


@given(networks())
def test_every_host_has_a_machine_and_the_asked_one(network: Any) -> None:
    hosts, links, machines, asked = network
    found = placed("x.yaml", hosts, links, machines_of(machines), asked)
    assert list(found) == hosts
    assert set(found.values()) <= set(machines)
    assert asked.items() <= found.items()
    assert found == placed("x.yaml", hosts, links, machines_of(machines), asked), "the same each time"


@given(networks())
def test_no_machine_is_left_empty_beside_one_with_two(network: Any) -> None:
    hosts, links, machines, _ = network
    found = placed("x.yaml", hosts, [*links, *(link(host, host) for host in hosts)], machines_of(machines), {})
    assert len(set(found.values())) == min(len(hosts), len(machines))


def machines_of(names: list[str]) -> dict[str, bool]:
    return dict.fromkeys(names, True)


def test_those_with_most_to_send_go_first() -> None:
    links = [link("big", "x", 90), link("a", "y", 50), link("b", "z", 40)]
    found = placed("x.yaml", ["a", "b", "big"], links, machines_of(["m1", "m2"]), {})
    assert found == {"big": "m1", "a": "m2", "b": "m2"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"h3": "m1"}, Said("place.no-such-host", place="x.yaml: place.h3", name="h3", guess=" (known: h1, h2)")),
        ({"h1": "m9"}, Said("place.no-such-machine", place="x.yaml: place.h1", name="m9", guess=" (known: m1, m2)")),
    ],
)
def test_a_name_that_there_is_not_is_named(asked: dict[str, str], said: Said) -> None:
    with pytest.raises(BadInput) as caught:
        placed("x.yaml", ["h1", "h2"], [link("h1", "h2")], machines_of(["m1", "m2"]), asked)
    said.check(caught.value)


def named(name: str, a: str, b: str, *, mbps: float = 1.0, delay_ms: float = 50.0) -> Any:
    return link(a, b, mbps * 1e6, name=name, delay_ms=delay_ms)


def spread(links: list[Any], asked: dict[str, str] | None = None) -> dict[str, str]:
    hosts = sorted({one[end]["host"] for one in links for end in ("a", "b")})
    return placed("x.yaml", hosts, links, machines_of(["m1", "m2"]), asked or {})


def test_two_hosts_are_on_two_machines() -> None:
    assert spread([named("one", "h1", "h2")]) == {"h1": "m1", "h2": "m2"}


def test_what_is_sent_is_balanced() -> None:
    """A host with nine links sends as much as nine with one."""
    star = [named(f"l{n}", "hub", f"h{n}") for n in range(9)]
    found = spread(star)
    assert [found[f"h{n}"] for n in range(9)].count(found["hub"]) <= 1


@pytest.mark.parametrize("long", [{0, 2}, {1, 3}])
def test_the_cut_is_where_the_delay_is_long(long: set[int]) -> None:
    """A ring of four hosts falls into halves by two of its links."""
    ring = [named(f"l{n}", f"h{n}", f"h{(n + 1) % 4}", delay_ms=80 if n in long else 1) for n in range(4)]
    found = spread(ring)
    assert {n for n in range(4) if found[f"h{n}"] != found[f"h{(n + 1) % 4}"]} == long


def test_a_long_link_is_cut_rather_than_two_short_ones() -> None:
    chain = [
        named("a", "h1", "h2", delay_ms=1),
        named("b", "h2", "h3", delay_ms=100),
        named("c", "h3", "h4", delay_ms=1),
    ]
    found = spread(chain)
    assert found["h1"] == found["h2"] != found["h3"] == found["h4"]


def test_where_a_scenario_wants_its_hosts_they_stay() -> None:
    chain = [
        named("a", "h1", "h2", delay_ms=1),
        named("b", "h2", "h3", delay_ms=100),
        named("c", "h3", "h4", delay_ms=1),
    ]
    found = spread(chain, {"h1": "m2", "h2": "m1"})
    assert (found["h1"], found["h2"]) == ("m2", "m1")


def test_no_change_makes_a_machine_much_busier() -> None:
    """Links of no delay would all be on one machine, if that were all that counts."""
    pairs = [named(f"l{n}", "h1", "h2", delay_ms=0) for n in range(8)]
    assert spread(pairs) == {"h1": "m1", "h2": "m2"}


def test_middles_are_balanced_over_the_machines_of_their_ends() -> None:
    links = [named(f"l{n}", "h1", "h2", mbps=rate) for n, rate in enumerate((8, 1, 1, 2, 4))]
    found = middles(links, {"h1": "m1", "h2": "m2"})
    assert found == {"l0": "m1", "l1": "m2", "l2": "m2", "l3": "m2", "l4": "m2"}
    both = middles([named(f"l{n}", "h1", "h2") for n in range(128)], {"h1": "m1", "h2": "m2"})
    assert list(both.values()).count("m1") == list(both.values()).count("m2") == 64


def test_the_machine_that_leads_has_middles_where_it_has_hosts() -> None:
    links = [named(f"l{n}", "h1", "h2") for n in range(4)]
    assert list(middles(links, {"h2": "m2"}).values()) == ["m2", "m2"], "half of them; the others are here"
    assert middles(links, {}) == {}
    assert middles([named("l", "h1", "h2")], {"h1": "m1", "h2": "m1"}) == {"l": "m1"}
    assert middles([named("l", "r1", "r2")], {"h1": "m1"}) == {}


def test_frames_cross_between_the_machines_of_their_ends_once() -> None:
    one, place = named("l", "h1", "h2"), {"h1": "m1", "h2": "m2"}
    assert ways_below(one, place, "m1") == ways_below(one, place, "m2") == [("m1", "m2")]
    assert ways_below(one, place, HERE) == [(HERE, "m1"), (HERE, "m2")], "of runs of before"
    assert ways_below(one, {"h2": "m2"}, "m2") == ways_below(one, {"h2": "m2"}, HERE) == [(HERE, "m2")]
    assert ways_below(one, {"h1": "m1", "h2": "m1"}, "m1") == []
    assert way_between("m2", HERE) == (HERE, "m2")
    assert [in_words(way) for way in ((HERE, "m2"), ("m1", "m2"))] == ["to m2", "between m1 and m2"]
