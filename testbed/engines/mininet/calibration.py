"""Measures every link before it is trusted: asked against achieved, in both directions."""

from __future__ import annotations

import csv
import json
import math
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from influxdb.line_protocol import make_lines

from testbed.errors import RunFailed
from testbed.exit_codes import Exit
from testbed.message import Lines, Message
from testbed.plan.model import Limits, Plan
from topologies.commands import dies_with_us
from topologies.link import Link
from topologies.units import whole_bps

PROBE = "probe.json"
"""What the probe said, in the result folder: ``links.csv`` is made of it."""
MANY_LIMITS = 1e6
"""Stands for an error where none is allowed: InfluxDB has no infinity."""


@dataclass(frozen=True)
class LinkReading:
    """One direction of a link: what was asked and what the probe measured."""

    link: str
    direction: str
    rate_bps_asked: float
    rate_bps: float
    delay_ms_asked: float
    delay_ms: float
    delay_p99_ms: float
    loss_asked: float
    loss: float
    sent: int
    received: int

    @property
    def rate_error(self) -> float:
        """Relative error of the rate, signed."""
        return self.rate_bps / self.rate_bps_asked - 1

    @property
    def delay_error_ms(self) -> float:
        """Error of the median one-way delay, signed."""
        return self.delay_ms - self.delay_ms_asked

    @property
    def loss_allowance(self) -> float:
        """How far the share of lost packets may be off by chance alone: the 99.9% interval of the binomial
        distribution, by its normal approximation, and one packet."""
        deviation = math.sqrt(self.loss_asked * (1 - self.loss_asked) / self.sent)
        return statistics.NormalDist().inv_cdf(0.9995) * deviation + 1 / self.sent


class LinksOff(RunFailed):
    """A link is not what was asked, so nothing was run over it."""

    exit_code = Exit.UNTRUSTED
    reasons: Sequence[Message] = ()


def calibrate(
    plan: Plan,
    plan_file: Path,
    probe: Path,
    namespaces: Mapping[str, str],
    log: Path,
    table: Path,
    note: Callable[[list[LinkReading], int], None] = lambda _readings, _attempt: None,
    further: Sequence[str] = (),
) -> list[LinkReading]:
    """Measure the links, a second time if the first was off (a busy moment of a shared machine).

    What the probe said in each attempt goes to ``probe.json`` beside ``table``, its readings to ``table``
    (``links.csv``) and to ``note`` with the attempt's number. Raises :class:`LinksOff` where a link is beyond the
    plan's limits, :class:`RunFailed` if the probe breaks down. ``further`` are options of the probe.
    """
    for attempt in (1, 2):
        said = measure(plan, plan_file, probe, namespaces, log, further)
        table.with_name(PROBE).write_text(json.dumps(said, indent=1) + "\n")
        readings = readings_of(plan, said)
        write_csv(readings, table)
        note(readings, attempt)
        reasons = off_limits(readings, plan["limits"])
        if not reasons:
            return readings
    off = LinksOff(
        "calibration.links-off",
        "the links are not what was asked, so nothing was run over them:\n{reasons}",
        "Free the machine of other load and run again.",
        reasons=Lines(f"  {reason}" for reason in reasons),
    )
    off.reasons = reasons
    raise off


def measure(
    plan: Plan, plan_file: Path, probe: Path, namespaces: Mapping[str, str], log: Path, further: Sequence[str] = ()
) -> dict[str, Any]:
    """Run the probe over all links at once (a few seconds); returns what it said. Raises :class:`RunFailed` if it
    breaks down."""
    command = [str(probe), "probe", "--plan", str(plan_file), *further]
    for host, path in namespaces.items():
        command += ["--netns", f"{host}={path}"]
    longest_delay_s = max(link["delay_ms"] for link in plan["links"]) / 1000
    timeout_s = 20 + 10 * longest_delay_s
    try:
        with log.open("a") as errors:
            done = subprocess.run(
                dies_with_us(command), stdout=subprocess.PIPE, stderr=errors, text=True, timeout=timeout_s, check=False
            )
    except subprocess.TimeoutExpired:
        raise RunFailed(
            "calibration.timeout",
            "the links could not be measured within {timeout_s:.0f} s; see {log}",
            timeout_s=timeout_s,
            log=log,
        ) from None
    if done.returncode:
        raise RunFailed(
            "calibration.probe-failed",
            "the links could not be measured (the probe ended with {returncode}); see {log}",
            returncode=done.returncode,
            log=log,
        )
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def readings_of(plan: Plan, said: Mapping[str, Any]) -> list[LinkReading]:
    """What the probe said, beside what the plan asks; raises :class:`RunFailed` where it measured too little."""
    asked = {link["name"]: link for link in plan["links"]}
    return [_reading(asked[measured["link"]], measured) for measured in said["links"]]


def _reading(link: Link, measured: dict[str, Any]) -> LinkReading:
    if measured["delay_ms"] is None or measured["rate_bps"] is None:
        raise RunFailed(
            "calibration.too-few-packets",
            "link {link} {direction}: too little came through to measure it ({received} of {sent} packets)",
            link=link["name"],
            direction=measured["direction"],
            received=measured["received"],
            sent=measured["sent"],
        )
    return LinkReading(
        link=link["name"],
        direction=measured["direction"],
        rate_bps_asked=whole_bps(link["rate_bps"]),
        rate_bps=measured["rate_bps"],
        delay_ms_asked=link["delay_ms"],
        delay_ms=measured["delay_ms"],
        delay_p99_ms=measured["delay_p99_ms"],
        loss_asked=link["loss"],
        loss=measured["loss"],
        sent=measured["sent"],
        received=measured["received"],
    )


def off_limits(readings: list[LinkReading], limits: Limits) -> list[Message]:
    """Where a link is not what was asked, a line each; empty when all links can be trusted."""
    reasons = []
    for reading in readings:
        if abs(reading.rate_error) > limits["rate_error"]:
            reasons.append(
                Message(
                    "calibration.rate-off",
                    "link {link} {direction}: rate {mbps:.3f} Mbit/s is {off:+.1%} off the asked {asked_mbps:.3f} "
                    "(limit ±{limit:.1%})",
                    link=reading.link,
                    direction=reading.direction,
                    mbps=reading.rate_bps / 1e6,
                    off=reading.rate_error,
                    asked_mbps=reading.rate_bps_asked / 1e6,
                    limit=limits["rate_error"],
                )
            )
        if abs(reading.delay_error_ms) > limits["delay_error_ms"]:
            reasons.append(
                Message(
                    "calibration.delay-off",
                    "link {link} {direction}: delay {delay_ms:.2f} ms is {off_ms:+.2f} ms off the asked {asked_ms:g} "
                    "(limit ±{limit_ms:g} ms)",
                    link=reading.link,
                    direction=reading.direction,
                    delay_ms=reading.delay_ms,
                    off_ms=reading.delay_error_ms,
                    asked_ms=reading.delay_ms_asked,
                    limit_ms=limits["delay_error_ms"],
                )
            )
        if reading.loss_asked and abs(reading.loss - reading.loss_asked) > reading.loss_allowance:
            reasons.append(
                Message(
                    "calibration.loss-off",
                    "link {link} {direction}: loss {loss:.2%} of {sent} packets, asked {asked:.2%} (±{allowance:.2%} "
                    "is "
                    "what chance allows)",
                    link=reading.link,
                    direction=reading.direction,
                    loss=reading.loss,
                    sent=reading.sent,
                    asked=reading.loss_asked,
                    allowance=reading.loss_allowance,
                )
            )
    return reasons


def lines(plan: Plan, readings: list[LinkReading], now_ns: int) -> list[str]:
    """The readings as points of the measurement ``calibration``.

    ``of_limit`` is the larger of the errors of rate and delay, in parts of what the plan's limits allow: above
    1 the link is off.
    """
    limits = plan["limits"]
    points = [
        {
            "measurement": "calibration",
            "tags": {
                "run": plan["run"],
                "scenario": plan["scenario"],
                "policy": plan["sessions"][0]["policy"],
                "link": reading.link,
                "direction": reading.direction,
            },
            "fields": {
                "rate_bps_asked": float(reading.rate_bps_asked),
                "rate_bps": float(reading.rate_bps),
                "rate_error": reading.rate_error,
                "delay_ms_asked": float(reading.delay_ms_asked),
                "delay_ms": float(reading.delay_ms),
                "delay_error_ms": reading.delay_error_ms,
                "delay_p99_ms": float(reading.delay_p99_ms),
                "loss_asked": float(reading.loss_asked),
                "loss": float(reading.loss),
                "of_limit": max(
                    _of_limit(reading.rate_error, limits["rate_error"]),
                    _of_limit(reading.delay_error_ms, limits["delay_error_ms"]),
                ),
            },
            "time": now_ns,
        }
        for reading in readings
    ]
    return str(make_lines({"points": points})).splitlines()


def _of_limit(error: float, limit: float) -> float:
    if limit == 0:
        return 0.0 if error == 0 else MANY_LIMITS
    return min(abs(error) / limit, MANY_LIMITS)


def write_csv(readings: list[LinkReading], path: Path) -> None:
    """``links.csv``: asked and achieved, a row per link and direction."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(asdict(readings[0])))
        writer.writeheader()
        writer.writerows(asdict(reading) for reading in readings)


def summary(readings: list[LinkReading]) -> str:
    """The worst errors over all links, for the progress line."""
    rate = max(readings, key=lambda r: abs(r.rate_error))
    delay = max(readings, key=lambda r: abs(r.delay_error_ms))
    return (
        f"worst rate error {rate.rate_error:+.2%} ({rate.link}), "
        f"worst delay error {delay.delay_error_ms:+.3f} ms ({delay.link})"
    )
