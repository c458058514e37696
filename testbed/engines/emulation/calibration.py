"""Calibration: measures every link in both directions before a run, and compares it with the plan."""

import json
import math
import statistics
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from testbed import documents
from testbed.documents import write_json
from testbed.errors import RunFailed, Untrusted
from testbed.message import Lines, Message
from testbed.plan.model import Limits, Plan
from testbed.points import line_protocol, point
from topologies.commands import dies_with_us
from topologies.link import Link
from topologies.units import whole_bps

PROBE = "probe.json"
"""The probe's output in the result folder, from which ``links.csv`` is derived."""
MANY_LIMITS = 1e6
"""Stands for an error where none is allowed: InfluxDB has no infinity."""


@dataclass(frozen=True)
class LinkReading:
    """One direction of a link: the planned values and those that the probe measured."""

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
        """The error of the share of lost packets that chance alone explains: the 99.9% interval of the binomial
        distribution, by its normal approximation, and one packet."""
        deviation = math.sqrt(self.loss_asked * (1 - self.loss_asked) / self.sent)
        return statistics.NormalDist().inv_cdf(0.9995) * deviation + 1 / self.sent


def calibrate(
    plan: Plan, folder: Path, probe: Path, namespaces: Mapping[str, str], options: Sequence[str] = ()
) -> Iterator[list[LinkReading]]:
    """Measure the links, a second time if the first was off (a busy moment of a shared machine); gives the readings of
    each attempt.

    Leaves ``probe.json`` and ``links.csv`` of the last attempt in the run's ``folder``; ``options`` are further ones of
    the probe.

    Raises:
        Untrusted: a link is beyond the plan's limits.
        RunFailed: the probe breaks down.
    """
    for _attempt in (1, 2):
        measured = _probe(plan, folder, probe, namespaces, options)
        write_json(folder / PROBE, measured)
        readings = readings_of(plan, measured)
        write_csv(readings, folder / "links.csv")
        yield readings
        reasons = off_limits(readings, plan["limits"])
        if not reasons:
            return
    off = Untrusted(
        "calibration.links-off",
        f"the links differ from the plan, so nothing was run over them:\n{Lines(f'  {reason}' for reason in reasons)}",
        "Free the machine of other load and run again.",
    )
    off.off = reasons
    raise off


def _probe(plan: Plan, folder: Path, probe: Path, namespaces: Mapping[str, str], options: Sequence[str]) -> Any:
    """Run the probe over all links; returns its output."""
    command = [part for host, path in namespaces.items() for part in ("--netns", f"{host}={path}")]
    log, longest_s = folder / "logs" / "probe.log", max(link["delay_ms"] for link in plan["links"]) / 1000
    # at worst the rates are measured one direction after another, for a second each
    timeout_s = 20 + 10 * longest_s + 2 * len(plan["links"]) * (1 + longest_s)
    try:
        with log.open("a") as errors:
            done = subprocess.run(
                dies_with_us([str(probe), "probe", "--plan", str(folder / "plan.json"), *options, *command]),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                timeout=timeout_s,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise RunFailed(
            "calibration.timeout", f"the links could not be measured within {timeout_s:.0f} s; see {log}"
        ) from None
    if done.returncode:
        raise RunFailed("calibration.probe-failed", f"the probe of links ended with {done.returncode}; see {log}")
    return json.loads(done.stdout)


def readings_of(plan: Plan, measured: Mapping[str, Any]) -> list[LinkReading]:
    """The probe's output beside the plan; raises :class:`RunFailed` where too few packets arrived to measure a link."""
    links = {link["name"]: link for link in plan["links"]}
    return [_reading(links[one["link"]], one) for one in measured["links"]]


def _reading(link: Link, measured: dict[str, Any]) -> LinkReading:
    if measured["delay_ms"] is None or measured["rate_bps"] is None:
        raise RunFailed(
            "calibration.too-few-packets",
            f"link {measured['link']} {measured['direction']}: {measured['received']} of {measured['sent']} packets "
            "arrived, too few",
        )
    values = measured | {
        "rate_bps_asked": whole_bps(link["rate_bps"]),
        "delay_ms_asked": link["delay_ms"],
        "loss_asked": link["loss"],
    }
    return LinkReading(**{one.name: values[one.name] for one in fields(LinkReading)})


def off_limits(readings: list[LinkReading], limits: Limits) -> list[Message]:
    """A message for each difference from the plan beyond its limits; none when all links can be trusted."""
    reasons = []
    for one in readings:
        if abs(one.rate_error) > (limit := limits["rate_error"]):
            reasons.append(
                Message(
                    "calibration.rate-off",
                    f"link {one.link} {one.direction}: rate {one.rate_bps / 1e6:g} Mbit/s is {one.rate_error:+.1%} "
                    f"off the planned {one.rate_bps_asked / 1e6:g} Mbit/s (limit ±{limit:.1%})",
                )
            )
        if abs(one.delay_error_ms) > (limit := limits["delay_error_ms"]):
            reasons.append(
                Message(
                    "calibration.delay-off",
                    f"link {one.link} {one.direction}: delay {one.delay_ms:.2f} ms is {one.delay_error_ms:+.2f} ms "
                    f"off the planned {one.delay_ms_asked:g} ms (limit ±{limit:g} ms)",
                )
            )
        if one.loss_asked and abs(one.loss - one.loss_asked) > one.loss_allowance:
            reasons.append(
                Message(
                    "calibration.loss-off",
                    f"link {one.link} {one.direction}: loss {one.loss:.2%} of {one.sent} packets, planned "
                    f"{one.loss_asked:.2%} (±{one.loss_allowance:.2%} is what chance allows)",
                )
            )
    return reasons


def lines(plan: Plan, readings: list[LinkReading], now_ns: int) -> list[str]:
    """The readings as points of the measurement ``calibration``.

    ``of_limit`` is the larger of the errors of rate and delay, in parts of what the plan's limits allow: above
    1 the link is off.
    """
    tags = {"run": plan["run"], "scenario": plan["scenario"], "policy": plan["sessions"][0]["policy"]}
    points = []
    for reading in readings:
        values = asdict(reading) | {"rate_error": reading.rate_error, "delay_error_ms": reading.delay_error_ms}
        for name in ("link", "direction", "sent", "received"):
            del values[name]
        values["of_limit"] = max(
            _of_limit(reading.rate_error, plan["limits"]["rate_error"]),
            _of_limit(reading.delay_error_ms, plan["limits"]["delay_error_ms"]),
        )
        numbers = {name: float(value) for name, value in values.items()}
        place = {"link": reading.link, "direction": reading.direction}
        points.append(point("calibration", tags | place, numbers, now_ns))
    return line_protocol(points).splitlines()


def _of_limit(error: float, limit: float) -> float:
    if limit == 0:
        return 0.0 if error == 0 else MANY_LIMITS
    return min(abs(error) / limit, MANY_LIMITS)


def write_csv(readings: list[LinkReading], path: Path) -> None:
    """``links.csv``: requested and measured values, a row per link and direction."""
    documents.write_csv(path, [asdict(reading) for reading in readings])


def summary(readings: list[LinkReading]) -> str:
    """The worst errors over all links, for the progress line."""
    rate = max(readings, key=lambda r: abs(r.rate_error))
    delay = max(readings, key=lambda r: abs(r.delay_error_ms))
    return (
        f"worst rate error {rate.rate_error:+.2%} ({rate.link}), "
        f"worst delay error {delay.delay_error_ms:+.3f} ms ({delay.link})"
    )
