"""Telemetry that is not what was measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.sabotage.entry import Change, Entry

_CONNECTION = "ncp_connection,"
_S = 1_000_000_000


def lines(change: Callable[[list[str]], Iterable[str]]) -> Change:
    """All lines of ``telemetry.lp``, in order."""

    def on(folder: Path) -> None:
        file = folder / "telemetry.lp"
        file.write_text("".join(f"{line}\n" for line in change(file.read_text().splitlines())))

    return on


def each(change: Callable[[str], str], where: str = "") -> Change:
    """Every line that has ``where`` in it."""
    return lines(lambda all_: (change(line) if where in line else line for line in all_))


def field(name: str, change: Callable[[float], str]) -> Callable[[str], str]:
    """One float field of a line."""
    return lambda line: re.sub(
        rf"(?<=[ ,]){name}=([^, ]+)", lambda m: f"{name}={change(float(m[1].rstrip('i')))}", line
    )


def later(seconds: float, from_s: float = 0.0) -> Callable[[str], str]:
    """What was written ``from_s`` after the simulation's start or later."""
    start = 946_684_800 * _S

    def change(line: str) -> str:
        text, at = line.rsplit(" ", 1)
        return f"{text} {int(at) + int(seconds * _S)}" if int(at) >= start + from_s * _S else line

    return change


def _swapped(line: str) -> str:
    return re.sub(r"connection=([12])", lambda m: f"connection={3 - int(m[1])}", line)


def _without(share_from: float, to: float) -> Callable[[list[str]], Iterable[str]]:
    """Without the connections' points of that part of the file."""

    def change(all_: list[str]) -> Iterable[str]:
        first, last = share_from * len(all_), to * len(all_)
        return (line for place, line in enumerate(all_) if not (first <= place < last and line.startswith(_CONNECTION)))

    return change


def _one(all_: list[str]) -> Iterable[str]:
    """Of each series of a connection the middle sample."""
    mine = [line for line in all_ if line.startswith(_CONNECTION)]
    kept = set()
    for series in {line.split(" ")[0] for line in mine}:
        of_series = [line for line in mine if line.startswith(f"{series} ")]
        kept.add(of_series[len(of_series) // 2])
    return (line for line in all_ if not line.startswith(_CONNECTION) or line in kept)


def _telemetry(name: str, imitates: str, data: Change, **more: object) -> Entry:
    return Entry(name, "telemetry", imitates, data=data, **{"expected": "untrusted", **more})  # type: ignore[arg-type]


ENTRIES = (
    _telemetry(
        "points-dropped",
        "a pusher that loses every third point",
        lines(lambda all_: (line for place, line in enumerate(all_) if place % 3 or not line.startswith(_CONNECTION))),
    ),
    _telemetry("hole", "an agent that says nothing for a part of the run", lines(_without(0.6, 0.7))),
    _telemetry(
        "points-doubled",
        "a batch that is written twice, the second time with another time",
        lines(
            lambda all_: (
                copy for line in all_ for copy in (line, *([later(0.03)(line)] if line.startswith(_CONNECTION) else ()))
            )
        ),
    ),
    _telemetry("a-second-late", "an agent whose clock is a second behind", each(later(1.0), "ncp_connection,")),
    _telemetry("connections-swapped", "two connections under each other's name", each(_swapped, "ncp_connection,")),
    _telemetry(
        "rtt-in-seconds",
        "an RTT in seconds where milliseconds are meant",
        each(field("rtt_ms", lambda v: f"{v / 1000:.9f}")),
    ),
    _telemetry(
        "windows-in-bytes",
        "windows in bytes where packets are meant",
        each(field("window_packets", lambda v: f"{v * 1024:.3f}")),
    ),
    _telemetry(
        "rate-in-kpps",
        "a delivery rate in thousands of packets",
        each(field("delivered_pps", lambda v: f"{v / 1000:.6f}")),
    ),
    _telemetry(
        "nan",
        "a division by nothing that is written down",
        each(field("window_share", lambda _: "nan")),
        expected="fail",
    ),
    _telemetry(
        "infinite", "a window that is no number", each(field("window_packets", lambda _: "inf")), expected="fail"
    ),
    _telemetry("one-sample", "a sampler that stops after its first look", lines(_one)),
    _telemetry("no-samples", "a sampler that never looks", lines(_without(0, 1))),
    _telemetry(
        "shares-made-up",
        "a share that is written from the law, not from the windows",
        each(field("window_share", lambda _: "0.5"), "connection="),
    ),
    _telemetry(
        "of-another-run",
        "the points of a run before",
        each(lambda line: re.sub(r"run=[^, ]+", "run=sim-000000000000", line)),
        otherwise={"compare": "fail"},  # refused: runs of two seeds have the same telemetry then
    ),
)
