"""Links that were not measured, or not these; machines that were not up to it; clocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from testbed.judge.trust.underlay import Sample
from tests.sabotage.catalogue.telemetry import each, later, lines
from tests.sabotage.entry import Entry, Level, Word
from tests.sabotage.real import ELSEWHERE, Told

_NAMED: Mapping[Level, Word] = {"verify": "fail"}
"""``verify`` names a file that is missing, or not what the probe said of these links."""


def _first(part: str, **values: Any) -> Callable[[Told], None]:
    """Of the first link, forward."""

    def change(told: Told) -> None:
        (told["probe"] if part == "probe" else told["relay"]["links"])[0].update(values)

    return change


def _times(name: str, factor: float, plus: float = 0.0) -> Callable[[Told], None]:
    def change(told: Told) -> None:
        told["probe"][0][name] = told["probe"][0][name] * factor + plus

    return change


def _set(key: str, value: Any) -> Callable[[Told], None]:
    return lambda told: told.__setitem__(key, value)


def _of_another(told: Told) -> None:
    for reading in told["probe"]:
        reading["link"] = "fast"


def _one_way(told: Told) -> None:
    told["probe"] = [reading for reading in told["probe"] if reading["direction"] == "ab"]


def _lossy(told: Told) -> None:
    told["probe"][0].update(loss=0.01, received=1485)


def _half(told: Told) -> None:
    told["of_the_rate"] = 0.5
    for reading in told["probe"]:
        reading["rate_bps"] *= 0.5


def as_it_is(_told: Told) -> None:
    """Nothing."""


def _counted(change: Callable[[list[Any]], list[Any]]) -> Callable[[Told], None]:
    """Other links in the relay's result."""

    def on(told: Told) -> None:
        told["relay"]["links"] = change(told["relay"]["links"])

    return on


def starved(told: Told) -> None:
    """Another program takes all of the machine."""
    told["host"] = [(0.1, 0.004)] * 90


def quiet_way() -> list[Sample]:
    """To another machine, whose clock is an hour ahead: there and back in 10 ms, give or take 0.1 ms."""
    return [
        Sample(
            ELSEWHERE,
            "before" if number < 100 else "during",
            1_795_000_000_000_000_000 + number * 50_000_000,
            lost=False,
            rtt_ns=10_000_000 + number % 3 * 100_000,
            offset_ns=3_600_000_000_000,
            idle=number * 8,
            cpu=number * 10,
        )
        for number in range(400)
    ]


def _underlay(**changes: Any) -> Callable[[Told], None]:
    """A host on another machine, and the way there changed from the middle of the run on for 2 s."""

    def change(told: Told) -> None:
        samples = quiet_way()
        samples[200:240] = [replace(one, **changes) for one in samples[200:240]]
        told["underlay"] = samples

    return change


def _half_of_underlay(told: Told) -> None:
    """Its second half is cut off."""
    told["underlay"] = quiet_way()[:180]


_ENDED_BEFORE: dict[Level, Word] = {"verify": "fail"}
"""Nothing was run over links that are off, so that there is no verdict to verify."""


def _real(name: str, of: str, imitates: str, change: Callable[[Told], None], **more: Any) -> Entry:
    return Entry(name, of, imitates, real=change, **{"expected": "untrusted", **more})


ENTRIES = (
    _real("control-real", "control", "nothing, of a run on real packets", as_it_is, expected="pass"),
    _real(
        "probe-rate-plus-3",
        "links",
        "a shaper that lets 3% too much through",
        _times("rate_bps", 1.03),
        otherwise=_ENDED_BEFORE,
    ),
    _real(
        "probe-delay-plus-1.5-ms",
        "links",
        "a middle that delays 1.5 ms too long",
        _times("delay_ms", 1, 1.5),
        otherwise=_ENDED_BEFORE,
    ),
    _real(
        "probe-half-the-rate",
        "links",
        "a link that was given another one's rate",
        _times("rate_bps", 0.125),
        otherwise=_ENDED_BEFORE,
    ),
    _real("probe-loss-unasked", "links", "a cable that loses 1% one way, where nothing is to be lost", _lossy),
    _real("calibration-skipped", "calibration", "links that nobody measured", _set("probe", None), otherwise=_NAMED),
    _real(
        "calibration-stale",
        "calibration",
        "readings of a day when half of the rate was requested",
        _half,
        otherwise=_NAMED,
    ),
    _real(
        "calibration-of-another-link",
        "calibration",
        "one link measured, and said to be all",
        _of_another,
        otherwise=_ENDED_BEFORE,
    ),
    _real("calibration-one-way", "calibration", "the way back was not measured", _one_way),
    _real(
        "late-relay",
        "trust",
        "1% of the frames leave 5 ms late",
        _first("relay", lateness_us={"p50": 20.0, "p99": 5000.0, "max": 9000.0}),
    ),
    _real(
        "relay-stopped",
        "trust",
        "a machine that stands still for 0.4 s",
        _first("relay", lateness_us={"p50": 20.0, "p99": 300.0, "max": 400_000.0}),
    ),
    _real(
        "relay-lost-frames",
        "trust",
        "a relay that loses 12 frames by itself",
        _first("relay", unasked_drops={"ring": 12}),
    ),
    _real("starved-machine", "trust", "another program takes all of the machine", starved),
    _real(
        "starved-for-a-while",
        "trust",
        "another program takes all of the machine for 6 s",
        _set("host", [(0.1, 0.8)] * 30 + [(0.1, 0.0)] * 60),
    ),
    _real(
        "host-queue-drops",
        "trust",
        "a queue that drops what it should hold back",
        _set("qdiscs", [{"host": "h1", "dev": "h1-eth1", "kind": "htb", "drops": 7}]),
    ),
    _real("relay-counts-nothing", "trust", "a relay that ends without its counts", _counted(lambda _: [])),
    _real("relay-counts-one-way", "trust", "a relay that counts one way only", _counted(lambda links: links[::2])),
    _real("relay-without-frames", "trust", "a relay that no frame came to", _first("relay", frames=0)),
    _real("no-host-load", "trust", "a sampler of the machine's load that never looks", _set("host", [])),
    _real("host-load-half", "trust", "a sampler of the machine's load that dies half-way", _set("silent", "host,")),
    _real("no-queues", "trust", "queues that nobody looked at after the run", _set("qdiscs", [])),
    _real("links-half", "trust", "a relay whose samples stop half-way", _set("silent", "link,")),
    _real("interfaces-half", "trust", "a collector of interfaces that dies half-way", _set("silent", "interface,")),
    _real("sockets-half", "trust", "a collector of sockets that dies half-way", _set("silent", "socket_queue,")),
    Entry(
        "clock-of-another-year",
        "trust",
        "a clock that is a year ahead, in telemetry and not in results",
        data=each(later(365 * 86400.0)),
        expected="untrusted",
    ),
    Entry(
        "no-link-samples",
        "trust",
        "a simulator that says nothing of its links",
        data=lines(lambda all_: (line for line in all_ if not line.startswith("link,"))),
        expected="untrusted",
    ),
    _real("control-elsewhere", "control", "nothing, of a run with a host elsewhere", _underlay(), expected="pass"),
    _real("underlay-lost", "trust", "a network between machines that is gone for 2 s", _underlay(lost=True)),
    _real(
        "underlay-half",
        "trust",
        "samples of that network for the first 4 s of a run, and none of the rest",
        _half_of_underlay,
    ),
    _real(
        "clock-elsewhere-set",
        "trust",
        "a clock of another machine that is set by 0.2 s",
        _underlay(offset_ns=3_600_200_000_000),
    ),
    Entry(
        "clock-stepped",
        "trust",
        "a clock that is set 2 s ahead under way",
        data=each(later(2.0, 5.0)),
        expected="untrusted",
    ),
    Entry(
        "clock-stepped-back",
        "trust",
        "a clock that is set 2 s back under way",
        data=each(later(-2.0, 5.0)),
        expected="untrusted",
    ),
)
