"""Which host is on which machine: as asked, else spread by what hosts send."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import BadInput
from testbed.plan.place import far_ends, placed


def link(a: str, b: str, rate_bps: int = 1_000_000) -> Any:
    return {"a": {"host": a}, "b": {"host": b}, "rate_bps": rate_bps}


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[str], list[Any], list[str], dict[str, str]]:
    hosts = [f"h{n}" for n in range(draw(st.integers(2, 12)))]
    machines = [f"m{n}" for n in range(draw(st.integers(1, 5)))]
    one = st.sampled_from(hosts)
    ends = draw(st.lists(st.tuples(one, one, st.integers(1, 10**9)), min_size=1, max_size=20))
    asked = draw(st.dictionaries(one, st.sampled_from(machines)))
    return hosts, [link(*end) for end in ends], machines, asked


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
        ({"h3": "m1"}, "x.yaml: place.h3: there is no host 'h3' with an agent; there are h1, h2"),
        ({"h1": "m9"}, "x.yaml: place.h1: there is no machine 'm9' in the inventory; there are m1, m2"),
    ],
)
def test_a_name_that_there_is_not_is_named(asked: dict[str, str], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        placed("x.yaml", ["h1", "h2"], [link("h1", "h2")], machines_of(["m1", "m2"]), asked)
    assert caught.value.message == said


def test_a_link_crosses_to_each_machine_with_an_end_of_it() -> None:
    assert far_ends(link("h1", "h2"), {"h1": "m1", "h2": "m1"}) == ["m1", "m1"], "its middle is here"
    assert far_ends(link("h1", "r1"), {"h1": "m1"}) == ["m1"]
