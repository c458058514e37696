"""The timeline unfolded into single actions."""

from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.errors import BadInput
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.scenario.load import load
from tests.plan.test_resolve import POLICIES
from tests.raises import Containing, Said, raises

BURSTS = {"gilbert_elliott": {"enter": 0.01, "leave": 0.25, "loss_good": 0.0, "loss_bad": 1.0}}


@pytest.fixture
def actions_of(plan_of):
    """The plan's actions for the events of a timeline, written as in a scenario."""

    def unfolded(*events: str, link: str = "") -> list[Any]:
        return list(plan_of(*events, link=link)["timeline"])

    return unfolded


@pytest.fixture
def plan_of(tmp_path: Path):
    """The plan of ``startup`` with a timeline."""

    def planned(*events: str, link: str = "") -> Any:
        text = (paths.SCENARIOS / "startup.yaml").read_text()
        text = text.replace("rate: 128pps, delay: 50ms", f"rate: 128pps, delay: 50ms{link}")
        file = tmp_path / "scenario.yaml"
        file.write_text(text + "timeline:\n" + "".join(f"  - {{{event}}}\n" for event in events))
        return resolve(load(str(file)), POLICIES, Choices(), new_run_id())

    return planned


@pytest.mark.parametrize(
    ("event", "limit_s"),
    [("rate: 1024pps", 3 * 42.667), ("rate: 64pps", 3 * 246), ("direction: ba, rate: 64pps", 3 * 42.667)],
)
def test_a_transfer_may_take_as_long_as_a_later_rate_needs(plan_of, event: str, limit_s: float) -> None:
    """49,152 packets over 1,152 packets/s take 42.7 s; what is left after 2 s takes 244 s over 192 packets/s."""
    assert plan_of(f"at: 2s, do: set, link: fast, {event}")["limits"]["transfer_s"] == pytest.approx(
        30 + limit_s, abs=0.1
    )


def test_a_link_can_be_set_and_set_back(actions_of) -> None:
    up, down = actions_of(
        "at: 9s, do: set, link: slow, loss: 0, delay: 0",
        "at: 5s, do: set, link: slow, direction: ab, loss: 1%, delay: 500ms, rate: 64pps",
    )
    assert (up["at_s"], up["direction"]) == (5.0, "ab")
    assert up["properties"] == {"delay_ms": 500.0, "loss": 0.01, "rate_bps": 64 * 1073 * 8}
    assert down["properties"] == {"delay_ms": 0.0, "loss": 0.0}


def test_a_blackhole_ends_with_the_loss_that_there_was(actions_of) -> None:
    found = actions_of(
        "at: 8s, do: blackhole, link: slow, for: 1s",
        "at: 2s, do: blackhole, link: slow, for: 1s",
        "at: 5s, do: set, link: slow, loss: 2%",
        link=", loss: 1%",
    )
    assert [(a["at_s"], a["properties"]["loss"]) for a in found] == [
        (2.0, 1.0),
        (3.0, 0.01),
        (5.0, 0.02),
        (8.0, 1.0),
        (9.0, 0.02),
    ]


def test_a_blackhole_of_a_link_with_bursty_loss(actions_of) -> None:
    start, end = actions_of("at: 2s, do: blackhole, link: slow, for: 1s", link=", burst_loss: {enter: 1%, leave: 25%}")
    assert start["properties"]["gilbert_elliott"]["loss_good"] == 1.0
    assert end["properties"]["gilbert_elliott"] == {"enter": 0.01, "leave": 0.25, "loss_good": 0.0, "loss_bad": 1.0}


@pytest.mark.parametrize(
    ("link", "event", "ends"),
    [
        (", burst_loss: {enter: 1%, leave: 25%}", "at: 1s, do: set, link: slow, loss: 2%", [("both", {"loss": 0.02})]),
        (", loss: 1%", "at: 1s, do: set, link: slow, burst_loss: {enter: 1%, leave: 25%}", [("both", BURSTS)]),
        ("", "at: 1s, do: set, link: slow, direction: ba, loss: 2%", [("ab", {"loss": 0.0}), ("ba", {"loss": 0.02})]),
        ("", "at: 1s, do: ramp, link: slow, loss: [0, 2%], over: 1s", [("both", {"loss": 0.02})]),
        (", loss: 1%", "at: 3500ms, do: set, link: slow, loss: 2%", [("both", {"loss": 0.01})]),
    ],
)
def test_a_blackhole_ends_with_the_loss_of_each_direction(actions_of, link: str, event: str, ends: list[Any]) -> None:
    """Of both kinds of loss with the one that was set last: a link has but one."""
    found = actions_of(event, "at: 2s, do: blackhole, link: slow, for: 1s", link=link)
    assert [(a["direction"], a["properties"]) for a in found if a["at_s"] == 3.0] == ends


def test_a_blackhole_within_another_does_not_end_it(actions_of) -> None:
    found = actions_of("at: 2s, do: blackhole, link: slow, for: 3s", "at: 3s, do: blackhole, link: slow, for: 1s")
    assert [(a["at_s"], a["properties"]["loss"]) for a in found] == [(2.0, 1.0), (3.0, 1.0), (4.0, 1.0), (5.0, 0.0)]


def test_a_flap_is_down_and_up_in_turns(actions_of) -> None:
    found = actions_of("at: 1s, do: flap, link: fast, times: 3, down: 200ms, up: 300ms")
    assert [(a["at_s"], a["up"]) for a in found] == [
        (1.0, False),
        (1.2, True),
        (1.5, False),
        (1.7, True),
        (2.0, False),
        (2.2, True),
    ]


def test_a_ramp_reaches_both_ends(actions_of) -> None:
    found = actions_of("at: 1s, do: ramp, link: fast, delay: [50ms, 100ms], over: 1s, step: 250ms")
    assert [(a["at_s"], a["properties"]["delay_ms"]) for a in found] == [
        (1.0, 50),
        (1.25, 62.5),
        (1.5, 75),
        (1.75, 87.5),
        (2.0, 100),
    ]


def test_a_ramp_of_rates_has_each_in_full(actions_of) -> None:
    found = actions_of("at: 1s, do: ramp, link: fast, rate: [102.4pps, 1mbit], over: 1s, step: 250ms")
    rates = [a["properties"]["rate_bps"] for a in found]
    assert rates == [879001.6, 909251.2, 939500.8, 969750.4, 1_000_000]
    assert isinstance(rates[-1], int)


def test_a_paused_reader(actions_of) -> None:
    (pause,) = actions_of("at: 5s, do: pause_read, connection: 2, for: 1s")
    assert (pause["kind"], pause["connection"], pause["for_s"]) == ("pause_read", 2, 1.0)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ("at: 5s, do: down, link: solw", Said("timeline.no-such-link", name="solw", guess="; did you mean 'slow'?")),
        (
            "at: 5s, do: pause_read, connection: 3, for: 1s",
            Said("timeline.no-such-connection", name="3", guess=" (known: 1, 2)"),
        ),
        ("at: 5, do: down, link: slow", Said("quantity.number-without-unit", number=5)),
        ("at: 5s, do: unplug, link: slow", Said("input.wrong-type", error=Containing("unplug"))),
        ("at: 5s, do: set, link: slow", Said("timeline.sets-nothing")),
        ("at: 5s, do: set, link: slow, loos: 1%", Said("input.unknown-key", guess=Containing("did you mean 'loss'"))),
        ("at: 5s, do: ramp, link: slow, over: 1s", Said("timeline.one-ramp")),
        ("at: 5s, do: blackhole, link: slow", Said("input.missing", field=Containing("for"))),
    ],
)
def test_mistakes_are_named(actions_of, event: str, says: Said) -> None:
    with pytest.raises(BadInput) as raised:
        actions_of(event)
    says.check(raised.value)


def test_jitter_from_a_file_is_not_an_events(actions_of, tmp_path: Path) -> None:
    (tmp_path / "samples.txt").write_text("1\n5\n")
    event = "at: 5s, do: set, link: slow, jitter: 5ms"
    with raises(BadInput, "timeline.jitter-from-file", where="timeline.1.jitter", link="slow"):
        actions_of(event, link=", jitter: {file: samples.txt}")
    (action,) = actions_of(event, link=", jitter: {normal: 1ms}")
    assert action["properties"] == {"jitter_ms": 5.0}
