"""Samples of a run's transfer, read from its telemetry while that is written; agents get no requests for them."""

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from line_protocol_parser import LineFormatError, parse_line

from testbed.engines.emulation.telemetry import GrowingFiles
from testbed.judge.checks.derived import SharesAhead
from testbed.plan.duration import expected_transfer_s
from testbed.plan.model import Plan
from testbed.plan.traffic_types import traffic_of
from testbed.runtime.parts import Background
from testbed.series import named

KEPT = 120
"""The number of a flow's rates that are kept, one for each half second."""
EVERY_S = 0.5
MBIT_PER_BIT = 1e-6
NICE = 10
"""The priority of the thread that follows: behind the run itself."""

RateUnit = Literal["packets/s", "Mbit/s"]
_Shown = Mapping[str, tuple[str, float]]
"""The attribute of a :class:`Flow` by series, and the factor to its unit."""
_BESIDE: _Shown = {"iperf3_goodput_bps": ("rate", MBIT_PER_BIT)}
_OF_WINDOWS: _Shown = {
    "window_packets": ("window_packets", 1),
    "window_share": ("share", 1),
    "rtt_ms": ("rtt_ms", 1),
    "delivered_pps": ("rate", 1),
}
_OF_OTHERS: _Shown = {
    "sender_cwnd_packets": ("window_packets", 1),
    "sender_rtt_ms": ("rtt_ms", 1),
    "sender_delivery_bps": ("rate", MBIT_PER_BIT),
    "ndn_window": ("window_packets", 1),
    "ndn_rtt_ms": ("rtt_ms", 1),
    "ndn_goodput_bps": ("rate", MBIT_PER_BIT),
}


class Happened(NamedTuple):
    """An event, in seconds since the transfer's start."""

    at_s: float
    kind: str
    text: str


@dataclass
class Flow:
    """The latest sample of a connection, or of a flow beside the sessions; None for unknown values."""

    session: str
    connection: str
    window_packets: float | None = None
    share: float | None = None
    rtt_ms: float | None = None
    rate: float | None = None
    """The rate at the receiver, over the last second."""
    rate_unit: RateUnit = "packets/s"
    rates: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    """The latest rates, one for each half second."""
    noted_s: float = -1.0


class Sampled:
    """Follows a transfer."""

    def __init__(self, plan: Plan, telemetry: Path) -> None:
        """``telemetry``: the file that grows, or the folder of files."""
        self.plan = plan
        self.expected_s = max(expected_transfer_s(plan), 0.1)
        self.flows: dict[tuple[str, str], Flow] = {}
        self.happened: list[Happened] = []
        self.t_s = 0.0
        """The newest sample's time, in seconds since the transfer's start."""
        self._sources: dict[tuple[str, str], dict[str, tuple[str, float]]] = {}
        """The attributes to set, by measurement and role, and then by field."""
        for name, into in {**_BESIDE, **(_OF_WINDOWS if traffic_of(plan).windows else _OF_OTHERS)}.items():
            series = named(name)
            place = (series.measurement, dict(series.tags).get("role", ""))
            self._sources.setdefault(place, {})[series.field] = into
        self._of_interest = ("event,", *(f"{measurement}," for measurement, _ in self._sources))
        self._files = GrowingFiles(telemetry)
        self._start_ns: int | None = None
        self._shares = SharesAhead(plan)

    def look(self) -> None:
        """Read the new lines. A broken one, as after a killed program, is passed over."""
        for lines in self._files.new_lines():
            for line in lines:
                if line.startswith(self._of_interest):
                    with suppress(LineFormatError):
                        self._take(parse_line(line))

    def law(self, flow: Flow) -> float | None:
        """The share that the law of the plan gives a connection now, if a check needs it."""
        return self._shares.at(flow.session, flow.connection, self.t_s)

    def _take(self, point: Mapping[str, Any]) -> None:
        tags, fields, time_ns = point["tags"], point["fields"], point["time"]
        if point["measurement"] == "event":
            if tags["kind"] == "transfer_start":
                self._start_ns = min(time_ns, self._start_ns or time_ns)
            self.happened.append(Happened(fields.get("at_s", 0.0), tags["kind"], fields.get("text", "")))
            return
        names = self._sources.get((point["measurement"], tags.get("role", "")))
        if names is None or self._start_ns is None:
            return
        at_s = (time_ns - self._start_ns) / 1e9
        self.t_s = max(self.t_s, at_s)
        session = tags.get("session") or point["measurement"]
        connection = tags.get("connection") or tags.get("flow") or "1"
        flow = self.flows.setdefault((session, connection), Flow(session, connection))
        for name in fields.keys() & names.keys():
            attribute, scale = names[name]
            setattr(flow, attribute, fields[name] * scale)
            if attribute == "rate":
                flow.rate_unit = "Mbit/s" if scale == MBIT_PER_BIT else "packets/s"
                if at_s - flow.noted_s >= EVERY_S * 0.9:
                    flow.noted_s = at_s
                    flow.rates.append(flow.rate or 0.0)


class Following(Background):
    """Calls ``look`` again and again while the transfer is on, in a thread of low priority."""

    longest_stop_s = 2.0
    """A terminal may have been halted."""

    def __init__(self, every_s: float, look: Callable[[], object]) -> None:
        super().__init__("follows-a-transfer")
        self._every_s, self._look = every_s, look

    def run(self) -> None:
        """Look until stopped."""
        with suppress(OSError):  # of this thread alone, as Linux has it
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        while not self._stopped.wait(self._every_s):
            self._look()
