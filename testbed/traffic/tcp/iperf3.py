"""``kind: iperf3``: iperf3 between the two hosts for a time, with the window that ``-w`` asks for.

The receiver's capture has the bytes, and over time the advertised window and the rate. Of those two the second half of
the transfer is judged, so that neither slow start nor the growth of buffers counts."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from collectors.iperf3 import Iperf3Flow
from testbed.errors import RunFailed
from testbed.points import Point
from testbed.runtime import iperf3
from testbed.runtime.agents import Agent
from testbed.runtime.iperf3 import CLIENT_PORT, PORT, read_result
from testbed.runtime.processes import Supervised
from testbed.runtime.socket_samples import SPOOL, read_samples
from testbed.traffic.tcp import Measured, Tcp
from testbed.traffic.tcp.captured.capture import Connection, Segment, read_connections

COOKIE_BYTES = 37
"""Ahead of the data; iperf3 counts it at neither end."""


class Iperf3Transfer(Tcp):
    """iperf3's two ends; their JSON is ``iperf3-server.json`` and ``iperf3-client.json`` in the run's folder."""

    _data_since_ns: int | None = None

    def start_server(self) -> Supervised:
        command = iperf3.server(PORT, "--json")
        return self.start("iperf3 server", command, "receiver", self.said("server"), listens_at=PORT)

    def start_client(self) -> Supervised:
        requested = self.requested
        options = ["--bind", self.address("sender"), "--cport", str(CLIENT_PORT), "--time", f"{requested['for_s']:.0f}"]
        options += ["--window", str(requested["window_bytes"])] if requested["window_bytes"] else []
        command = iperf3.client(self.address("receiver"), PORT, *options, "--json")
        return self.start("iperf3 client", command, "sender", self.said("client"))

    def started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        """The time at which the connection with the data was first seen: iperf3 uses its other one before."""
        if self._data_since_ns is None:
            samples = read_samples(self.site.folder / "spools" / SPOOL, role="sender")
            self._data_since_ns = samples[0].at_unix_ns if samples else None
        return self._data_since_ns

    def measured(self) -> Measured:
        client, server = read_result(self.said("client")), read_result(self.said("server"))
        received, sent = server["end"]["sum_received"], client["end"]["sum_sent"]
        data = self._captured()
        started_ns = round(data.start_unix_s * 1e9) if data else self.started_unix_ns([])
        if started_ns is None:
            raise RunFailed(
                "iperf3.no-first-data",
                f"no sample of the sender's socket shows when the data began; see {self.said('client')}",
            )
        reported = [interval["sum"] for interval in server["intervals"]]
        intervals = [float(interval["bits_per_second"]) / 1e6 for interval in reported]
        figures = {
            "throughput_mbps": float(received["bits_per_second"]) / 1e6,
            "end_mbps": statistics.mean(intervals[-max(1, len(intervals) // 4) :]),
            "retransmissions": float(sent["retransmits"]),
        }
        return Measured(
            started_unix_ns=started_ns,
            finished_unix_ns=started_ns + round(float(received["seconds"]) * 1e9),
            bytes=int(received["bytes"]),
            figures=figures | self._of_the_window(figures["throughput_mbps"], data),
            congestion_control=str(client["end"].get("sender_tcp_congestion", "")),
            details={
                "sender": {"bytes": int(sent["bytes"])},
                "receiver": {"captured": _captured_payload(data)} if data else {},
            },
            points=self._goodput(reported, started_ns),
        )

    def _goodput(self, intervals: Sequence[Mapping[str, Any]], started_ns: int) -> list[Point]:
        session = self.site.session
        flow = {"number": f"{session['name']}-1", "congestion_control": session["policy"]}
        of_flow = Iperf3Flow(self.site.plan, flow)
        return [
            of_flow.goodput(float(interval["bits_per_second"]), started_ns + round(float(interval["end"]) * 1e9))
            for interval in intervals
        ]

    def _captured(self) -> Connection | None:
        """The connection with the data, where the receiver's frames were captured."""
        capture = self.capture("receiver")
        if not capture.exists():
            return None
        found = [c for c in read_connections(capture) if c.client == (self.address("sender"), CLIENT_PORT)]
        if not found:
            raise RunFailed("iperf3.no-connection", f"{capture} has no connection from port {CLIENT_PORT}")
        return found[0]

    def _of_the_window(self, throughput_mbps: float, data: Connection | None) -> dict[str, float]:
        """The requested window and the advertised one, the rate that follows from each, and the rate in the second
        half."""
        rtt_s, window_bytes = self.rtt_s, self.requested["window_bytes"]
        samples = read_samples(self.site.folder / "spools" / SPOOL, role="sender")
        later = samples[len(samples) // 2 :]
        found: dict[str, float] = {}
        if later:
            found["in_flight_bytes"] = statistics.median(
                s.fields["in_flight_packets"] * s.fields["mss_bytes"] for s in later
            )
            found["rtt_ms"] = statistics.median(s.fields["rtt_ms"] for s in later)
        if data is not None:
            try:
                second_half = steady(data)
            except NoTransfer as error:
                raise RunFailed("iperf3.packets-missing", f"{self.capture('receiver')}: {error}") from error
            found |= {"observed_window_bytes": second_half.window_bytes, "steady_mbps": second_half.rate_bps / 1e6}
        elif later:
            found["observed_window_bytes"] = statistics.median(s.fields["peer_window_bytes"] for s in later)
        if not rtt_s:
            return found
        if window_bytes:
            found["theory_asked_mbps"] = window_bytes * 8 / rtt_s / 1e6
        if observed_bytes := found.get("observed_window_bytes"):
            theory_mbps = observed_bytes * 8 / rtt_s / 1e6
            found |= {"theory_observed_mbps": theory_mbps, "throughput_over_theory": throughput_mbps / theory_mbps}
            if "steady_mbps" in found:
                found["steady_over_theory"] = found["steady_mbps"] / theory_mbps
        return found


def _captured_payload(data: Connection) -> dict[str, int]:
    """Figures from the packets with the bytes that iperf3 counts."""
    found = arrived(data)
    return found._replace(payload_bytes=max(0, found.payload_bytes - COOKIE_BYTES))._asdict()


class Steady(NamedTuple):
    """The second half of a transfer."""

    window_bytes: float
    """The window that the receiver advertised for most of the time: the median over time."""
    rate_bps: float
    """Payload bits per second: the slope of the line through the bytes that had arrived."""


class Arrived(NamedTuple):
    """Figures of a whole transfer from frames captured at the receiver."""

    payload_bytes: int
    """Up to the last byte that was captured; what came twice, and what a capture missed between, is in it once."""
    largest_window_bytes: int
    """Largest window that the receiver advertised after its handshake."""


class NoTransfer(ValueError):
    """A connection that carried too little to tell."""


LEAST_SEGMENTS = 8


def steady(connection: Connection) -> Steady:
    """The client's data, as the server saw it; raises :class:`NoTransfer`."""
    data = [segment for segment in connection.sent_by("client") if segment.payload_bytes]
    if len(data) < LEAST_SEGMENTS:
        raise NoTransfer(f"{len(data)} segments with data were captured; a rate needs {LEAST_SEGMENTS}")
    middle_s, end_s = (data[0].t_s + data[-1].t_s) / 2, data[-1].t_s
    acks = connection.sent_by("server")
    return Steady(_window_bytes(acks, middle_s, end_s), _rate_bps(data, middle_s))


def arrived(connection: Connection) -> Arrived:
    """The client's data, as the server saw it."""
    # The first byte of data has the relative number 1.
    ends = [s.seq + s.payload_bytes - 1 for s in connection.sent_by("client") if s.payload_bytes]
    acks = connection.sent_by("server")
    return Arrived(max(ends, default=0), max((a.window_bytes for a in acks if not a.syn), default=0))


def _rate_bps(data: Sequence[Segment], from_s: float) -> float:
    """The rate of new data: a line through staircases has the stairs' slope, wherever it begins and ends."""
    starts = np.array([segment.seq for segment in data])
    ends = starts + np.array([segment.payload_bytes for segment in data])
    furthest = np.concatenate(([0], np.maximum.accumulate(ends)[:-1]))
    later = [segment.t_s >= from_s for segment in data]
    t_s = np.array([segment.t_s for segment in data])[later]
    arrived = np.cumsum(np.maximum(0, ends - np.maximum(furthest, starts)))[later]
    if t_s.size < LEAST_SEGMENTS or t_s[0] == t_s[-1]:
        raise NoTransfer("too few segments with data were captured in the second half")
    return float(8 * np.polyfit(t_s, arrived, 1)[0])


def _window_bytes(acks: Sequence[Segment], from_s: float, to_s: float) -> float:
    """The median over time of the windows between two times, each lasting until the next."""
    t_s = np.array([ack.t_s for ack in acks])
    windows = np.array([ack.window_bytes for ack in acks])
    first = max(0, int(np.searchsorted(t_s, from_s, side="right")) - 1)
    chosen = (t_s < to_s) & (np.arange(t_s.size) >= first)
    if not chosen.any():
        raise NoTransfer("no acknowledgements were captured in the second half")
    starts = np.maximum(t_s[chosen], from_s)
    lasted_s = np.diff(np.append(starts, to_s))
    return float(np.quantile(windows[chosen], 0.5, weights=lasted_s, method="inverted_cdf"))


TRAFFIC = Iperf3Transfer
