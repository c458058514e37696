"""The network between this machine and another with hosts of the run, and the other's clock: measured before the run
and throughout, and judged."""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path

from testbed.checks.result import Trust
from testbed.errors import CannotRun
from testbed.far.machine import ECHO_PORT, VXLAN_PORT, Machine, measuring
from testbed.plan.model import Limits, Plan
from testbed.runner.processes import Supervised

FILE = "underlay.csv"
"""In the result folder: a row for each packet."""
BEFORE_PACKETS, BEFORE_INTERVAL_MS = 200, 10
DURING_INTERVAL_MS = 50
VXLAN_BYTES = 50
"""What a frame of a link is longer on the way: Ethernet, IPv4, UDP and VXLAN headers."""
MOST_LOST = 1
"""As many packets may get lost on the way that nobody asked to lose, as of a link in its calibration."""
CLOCK_LIMIT_MS = 25.0
"""A quarter of the interval of telemetry: what is sampled at one time on two machines is told at one time."""
LEAST_SAMPLES = 20
NUMBERS = ("sent_unix_ns", "rtt_ns", "offset_ns", "idle", "cpu")
"""Of a sample."""


@dataclass(frozen=True)
class Sample:
    """What a packet found: there and back, in nanoseconds; a lost one has zeros."""

    machine: str
    when: str
    """``before`` or ``during``."""
    sent_unix_ns: int
    lost: bool
    rtt_ns: int
    offset_ns: int
    """What the other's clock is ahead."""
    idle: int
    """Jiffies of all its cores since it was booted, and of those the idle ones."""
    cpu: int


@dataclass(frozen=True)
class Underlay:
    """What samples say of the way to a machine."""

    machine: str
    samples: int
    lost: int
    one_way_ms: float
    """Half of the median there and back: how it is shared between the ways can't be known."""
    one_way_p99_ms: float
    asymmetry_ms: float
    """What either way may be off for that: half of the shortest there and back."""
    ahead_ns: int
    """The clock, by the samples that were quickest."""


def of(samples: Sequence[Sample]) -> Underlay:
    """The figures of samples of one machine. ValueError where none came back."""
    back = sorted((one for one in samples if not one.lost), key=lambda one: one.rtt_ns)
    if not back:
        raise ValueError("no packet came back")
    rtts_ms = [one.rtt_ns / 1e6 for one in back]
    quickest = back[: max(1, len(back) // 10)]
    return Underlay(
        back[0].machine,
        len(samples),
        len(samples) - len(back),
        statistics.median(rtts_ms) / 2,
        rtts_ms[min(len(rtts_ms) - 1, int(0.99 * len(rtts_ms)))] / 2,
        rtts_ms[0] / 2,
        round(statistics.median(one.offset_ns for one in quickest)),
    )


def before(program: Path, machine: Machine, key: int) -> list[Sample]:
    """Measure the way to a machine for 2 s; raises :class:`CannotRun` where there is none."""
    options = ("--packets", str(BEFORE_PACKETS), "--interval", f"{BEFORE_INTERVAL_MS}ms")
    done = subprocess.run(
        measuring(program, machine, key, *options), capture_output=True, text=True, timeout=60, check=False
    )
    samples = _read(done.stdout, machine.name, "before")
    if done.returncode or sum(not one.lost for one in samples) < LEAST_SAMPLES:
        came = sum(not one.lost for one in samples)
        raise CannotRun(
            f"{machine.name}: {came} of {len(samples)} UDP packets to {machine.address} came back"
            + (f": {done.stderr.strip()}" if done.stderr else ""),
            f"The UDP ports {VXLAN_PORT} and {ECHO_PORT} must be open between the machines.",
        )
    return samples


def carries(program: Path, machine: Machine, key: int, mtu: int) -> bool:
    """Whether packets of so many bytes get there and back in one piece."""
    options = ("--packets", "5", "--interval", "20ms", "--mtu", str(mtu))
    done = subprocess.run(
        measuring(program, machine, key, *options), capture_output=True, text=True, timeout=60, check=False
    )
    return not done.returncode and any(not one.lost for one in _read(done.stdout, machine.name, "before"))


class Watch:
    """Measures the way to a machine all through a run."""

    def __init__(self, program: Path, machine: Machine, key: int, folder: Path) -> None:
        self.machine, self._file = machine, folder / f"underlay-{machine.name}.jsonl"
        command = measuring(program, machine, key, "--interval", f"{DURING_INTERVAL_MS}ms")
        self._process = Supervised.start(f"underlay to {machine.name}", command, self._file)

    def failure(self) -> str | None:
        """How it ended by itself, or None."""
        return self._process.failure()

    def stop(self) -> None:
        """End it."""
        if not self._process.has_ended():
            self._process.stop()

    def samples(self) -> list[Sample]:
        """All that it found."""
        return _read(self._file.read_text(), self.machine.name, "during")


def _read(text: str, machine: str, when: str) -> list[Sample]:
    found = []
    for line in text.splitlines():
        if not (line.startswith("{") and line.endswith("}")):
            continue
        said = json.loads(line)
        found.append(
            Sample(
                machine,
                when,
                said["sent_unix_ns"],
                said["lost"],
                said["rtt_ns"],
                said["offset_ns"],
                said["idle"],
                said["cpu"],
            )
        )
    return found


def with_underlay(plan: Plan, samples: Sequence[Sample], trust: Trust) -> Trust:
    """A run's trust, less what the ways to the machines with its hosts, and their clocks, take of it."""
    machines = dict.fromkeys(plan.get("place", {}).values())
    reasons = [*trust.reasons, *judge_underlay(plan["limits"], machines, samples)]
    return Trust(trusted=not reasons, reasons=reasons)


def judge_underlay(limits: Limits, machines: Iterable[str], samples: Sequence[Sample]) -> list[str]:
    """Why links over the underlay, and times of the other machines, are not to be trusted, a line each."""
    return [
        reason
        for machine in machines
        for reason in _of_machine(limits, machine, [one for one in samples if one.machine == machine])
    ]


def _of_machine(limits: Limits, machine: str, samples: Sequence[Sample]) -> list[str]:
    where = f"underlay to {machine}"
    parts = {when: [one for one in samples if one.when == when] for when in ("before", "during")}
    for when, part in parts.items():
        if sum(not one.lost for one in part) < LEAST_SAMPLES:
            return [f"{where}: too few packets came back {when} the run to know it ({len(part)} were sent)"]
    begun, on = of(parts["before"]), of(parts["during"])
    reasons = []
    if (lost := begun.lost + on.lost) > MOST_LOST:
        reasons.append(
            f"{where}: it lost {lost} of {len(samples)} packets, for up to {_longest_gap_s(parts['during']):.1f} s, "
            "which nobody asked for"
        )
    if (change_ms := on.one_way_ms - begun.one_way_ms) and abs(change_ms) > limits["delay_error_ms"]:
        reasons.append(
            f"{where}: its one-way delay was {on.one_way_ms:.2f} ms during the run, {change_ms:+.2f} ms off what was "
            f"subtracted from the links' (limit ±{limits['delay_error_ms']:g} ms)"
        )
    if (late_ms := on.one_way_p99_ms - on.one_way_ms) > limits["lateness_p99_ms"]:
        reasons.append(
            f"{where}: 1% of the packets came more than {late_ms:.2f} ms late (limit {limits['lateness_p99_ms']:g} ms)"
        )
    if (idle := idle_share(parts["during"])) is None:
        reasons.append(f"{machine} does not tell its CPU time, so it may have been starved")
    elif idle < limits["cpu_idle"]:
        reasons.append(f"{machine} was starved: {idle:.1%} of its CPU time was idle (limit {limits['cpu_idle']:.0%})")
    uncertain_ms = clock_uncertainty_ms(samples)
    if uncertain_ms > CLOCK_LIMIT_MS:
        reasons.append(
            f"{machine}: its clock is known to ±{uncertain_ms:.1f} ms only (limit ±{CLOCK_LIMIT_MS:g} ms), so its "
            "points are not at the times at which they were sampled"
        )
    return reasons


def clock_uncertainty_ms(samples: Sequence[Sample]) -> float:
    """What the times of a machine may be off for, all through the run: the asymmetry of the ways, and what its clock
    has drifted, or was set, since it was looked at before."""
    begun = of([one for one in samples if one.when == "before"])
    drift_ns = max(
        (
            max(0.0, abs(one.offset_ns - begun.ahead_ns) - one.rtt_ns / 2)
            for one in samples
            if one.when == "during" and not one.lost
        ),
        default=0.0,
    )
    return begun.asymmetry_ms + drift_ns / 1e6


def idle_share(samples: Sequence[Sample]) -> float | None:
    """Which part of its CPU time a machine was idle; None where it does not tell."""
    told = [one for one in samples if not one.lost and one.cpu]
    if len(told) < 2 or told[-1].cpu == told[0].cpu:
        return None
    return (told[-1].idle - told[0].idle) / (told[-1].cpu - told[0].cpu)


def _longest_gap_s(samples: Sequence[Sample]) -> float:
    came = sorted(one.sent_unix_ns for one in samples if not one.lost)
    return max((b - a for a, b in pairwise(came)), default=0) / 1e9


def write(samples: Sequence[Sample], path: Path) -> None:
    """``underlay.csv``."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Sample)], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**asdict(one), "lost": int(one.lost)} for one in samples)


def read(path: Path) -> list[Sample]:
    """Its rows; raises OSError, KeyError or ValueError where it is none."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Sample(row["machine"], row["when"], lost=row["lost"] == "1", **{key: int(row[key]) for key in NUMBERS})
            for row in csv.DictReader(file)
        ]
