"""Whether what an NCP session counts is what its other end, its links and its own sums say.

A program that counts wrongly says so in every field that it derives from the count. So each field is held against a
number that another program made, or another part of the same. That is what the peer got, what the links carried, what
the plan asks for, or what the fields of one sample add up to. ``tools/held.yaml`` has them all.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from testbed.judge.checks.evidence import Evidence, Timed
from testbed.judge.checks.planned import path_of, session_window_packets
from testbed.judge.trust.links import CHANCE
from testbed.message import Message
from testbed.plan.codes import rule_of
from testbed.plan.engines import engine_of
from testbed.plan.intervals import both_ways, ever_has, link_intervals
from testbed.plan.model import Session
from testbed.series import Samples, named
from testbed.series.reader import start_of
from topologies.impairments import keys_that
from topologies.link import Link, rate_pps

Array = NDArray[np.float64]
UPSTREAM = ("previous", "nkp24")
"""Policies by whose rules a packet stays in flight until it is acknowledged, on whichever connection; others take it
for lost before, and what the peer's application has read for acknowledged."""
CLOCK_OFF = 0.001
"""Largest error of a span by the wall clock, in parts: the kernel slews it by at most 500 ppm, at either end."""
FIRST_RTO_MS, MOST_RTO_MS = 5000.0, 10_000.0
"""ncp-go's (docs/protocol.md)."""
LEAST_RTO_MS = 200.0
"""Linux' smallest, which a policy of its own rules keeps to or is below (ncp-agent/policy/rto.go)."""
SETTLED_ACKS = 100
"""Acknowledgements until ncp-go's RTO is near three RTTs: by at most 100 ms each from 5 s, then a tenth of the way."""
LEAST_SAMPLES = 20
CONTROL_BYTES = 4096
"""Handshakes, closes and their repeats, on one connection: 64 client ids and a few packets of a hundred bytes."""
SEQUENCE_BYTES = 2.0
MOST_IN_HAND = 60.0
"""Packets of one turn, at most."""
OF_A_LINK = ("achieved_bps", "backlog_bytes", "drops", "achieved_loss")
COPYING, VARYING = keys_that("copies"), (*keys_that("varies", "hastens"), "trace_file")
LOSING = keys_that("drops", "spoils")


class Ends:
    """Both ends of a session that came to its end: their samples, a row for each connection, and their results."""

    def __init__(self, evidence: Evidence, session: Session) -> None:
        self.evidence, self.session, self.plan = evidence, session, evidence.plan
        self.name, self.upstream = session["name"], rule_of(session) in UPSTREAM
        self.mtu = float(session["mtu_bytes"])
        self.sender, self.receiver = (evidence.result_of(self.name, role) or {} for role in ("sender", "receiver"))
        links = {link["name"]: link for link in self.plan["links"]}
        self.paths = [[links[name] for name in path_of(each)] for each in session["connections"]]

    def total(self, role: str, key: str) -> int | None:
        """The sum of a count over the connections; None where one does not tell it."""
        result = self.sender if role == "sender" else self.receiver
        found = [each.get(key) for each in result.get("connections", [])]
        return None if not found or None in found else sum(found)

    def rows(self, series: str) -> Array | None:
        """The series' values, a row for each planned connection; None unless all were sampled when windows were."""
        found = self.evidence.samples(series, self.name)
        rows = [found.get(str(each["index"])) for each in self.session["connections"]]
        if any(each is None or not np.array_equal(each.t_s, self.t_s) for each in rows):
            return None
        return np.array([each.values for each in rows if each is not None])

    @cached_property
    def t_s(self) -> Array:
        """The times of the sender's samples."""
        found = self.evidence.samples("window_packets", self.name)
        return next((each.t_s for each in found.values()), np.array([]))

    def of_session(self, series: str) -> Timed:
        """A series that the session has as a whole."""
        return self.evidence.samples(series, self.name).get(self.name, Timed(np.array([]), np.array([])))

    @cached_property
    def sums(self) -> dict[str, Array] | None:
        """The sender's counters at its samples."""
        rows = {key: self.rows(key) for key in ("sent", "resent", "acked", "lost", "in_flight_packets")}
        found = {key: each for key, each in rows.items() if each is not None and each.size}
        return found if len(found) == len(rows) else None

    @cached_property
    def whole(self) -> bool:
        """Whether no connection broke and none came back: then a packet in flight is never taken back."""
        carrier = any(action["kind"] == "carrier" for action in self.plan["timeline"])
        return not carrier and not self.sender.get("warnings") and not self.receiver.get("warnings")

    @cached_property
    def full_packets(self) -> bool:
        """Whether all packets but the last were full."""
        delivered, got = self.total("receiver", "delivered"), self.receiver.get("bytes")
        return delivered is not None and got is not None and delivered == math.ceil(got / self.mtu)

    def ever(self, keys: Sequence[str]) -> bool:
        """Whether a link of its paths has one of the properties at any time."""
        return any(ever_has(link, self.plan["timeline"], keys) for path in self.paths for link in path)

    def of_receiver(self, series: str) -> dict[str, Timed]:
        """A series of the receiver, whose session starts before the sender's: also what was sampled in between."""
        start_ns, end_s = self.evidence.start_ns(self.name), self.evidence.end_s(self.name) or 0.0
        found = self.evidence.reader.read(named(series), {"session": self.name})
        times = {key: (of.since(start_ns), of.values) for key, of in found.items()}
        return {key: Timed(t_s[t_s <= end_s], values[t_s <= end_s]) for key, (t_s, values) in times.items()}

    def way_ms(self, path: Sequence[Link]) -> tuple[float, float]:
        """Time of a small packet back over a path with nothing else on it, at least and at most."""
        ways = [link_intervals(link, self.plan["timeline"], "ba").__next__().link for link in path]
        least = sum(float(link["delay_ms"]) for link in ways)
        return least, least + sum(_frame_ms(link) for link in ways)

    def most_wait_ms(self, link: Link) -> float:
        """Time of a packet and its acknowledgement over a link with its queue full, at most in the run."""
        ever = [each.link for each in both_ways(link, self.plan["timeline"])]
        packets = [link["queue"].get("packets") or math.inf for link in ever]
        frames = max(packets) + 2  # and one that is being sent, each way
        return max(2 * float(link["delay_ms"]) for link in ever) + frames * max(map(_frame_ms, ever))

    @property
    def told_within_s(self) -> float | None:
        """Seconds until a sender knows what its receiver has read; None where acknowledgements may be lost or late."""
        if not self.undisturbed or self.ever((*LOSING, *VARYING)):
            return None
        back_ms = max(
            sum(float(each.link["delay_ms"]) for link in path for each in both_ways(link, self.plan["timeline"]))
            for path in self.paths
        )
        return (back_ms + float(self.session.get("ack_interval_ms", 0.0))) / 1000 + self.evidence.interval_s

    @property
    def undisturbed(self) -> bool:
        """Whether nobody stops reading and nothing else is on its links."""
        paused = any(action["kind"] == "pause_read" for action in self.plan["timeline"])
        return not paused and not self.plan.get("cross_traffic") and self.session["transport"] == "udp"


def _frame_ms(link: Link) -> float:
    return 8000 * float(link["frame_bytes"]) / float(link["rate_bps"])


def violations(ends: Ends) -> Iterator[Message]:
    """The contradictions between the ends of a session that came to its end, a line each."""
    for rule in (
        _results,
        _last,
        _in_flight,
        _rates,
        _acked_bytes,
        _reorder,
        _window_used,
        _handshake,
        _round_trips,
        _rtos,
    ):
        yield from rule(ends)


def _results(ends: Ends) -> Iterator[Message]:
    """Every packet that was sent for the first time was got once, and acknowledged once."""
    sent, resent, acked, lost = (ends.total("sender", key) for key in ("sent", "resent", "acked", "lost"))
    delivered, got = ends.total("receiver", "delivered"), int(ends.receiver.get("bytes", 0))
    for each in ends.receiver.get("connections", []):
        came = each.get("received")
        if came is not None and each.get("delivered", 0) > came:
            yield Message(
                "counts.delivered-not-arrived",
                f"connection {each['index']} delivered {each['delivered']:,} packets, and {came:,} arrived",
            )
    if sent is not None and resent is not None and delivered is not None:
        new = sent - resent
        if new > delivered or (ends.whole and new < delivered):
            yield Message(
                "counts.sent-not-delivered",
                f"its sender sent {new:,} new packets, and its receiver delivered {delivered:,}",
            )
        if ends.upstream and ends.whole and lost is not None and resent > lost:
            yield Message("counts.resent-not-lost", f"it sent {resent:,} packets again, and {lost:,} timed out")
    if acked is not None and delivered is not None and (acked > delivered or (ends.upstream and acked < delivered)):
        yield Message(
            "counts.acked-not-delivered",
            f"its sender counts {acked:,} acknowledged packets, and its receiver delivered {delivered:,}",
        )
    if delivered is not None and delivered * ends.mtu < got:
        yield Message(
            "counts.too-few-for-bytes", f"its receiver delivered {delivered:,} packets, too few for {got:,} bytes"
        )
    for role, result in (("sender", ends.sender), ("receiver", ends.receiver)):
        if not {"goodput_bps", "bytes", "started_unix_ns", "finished_unix_ns"} <= result.keys():
            continue
        length_s = (int(result["finished_unix_ns"]) - int(result["started_unix_ns"])) / 1e9
        bits = float(result["goodput_bps"]) * length_s
        if abs(bits - 8 * int(result["bytes"])) > CLOCK_OFF * bits:
            yield Message(
                "counts.goodput-off",
                f"its {role} says {float(result['goodput_bps']):,.0f} bit/s, and {int(result['bytes']):,} bytes "
                f"in {length_s:.3f} s",
            )


def _last(ends: Ends) -> Iterator[Message]:
    """Counters rise, and what they come to is in the result."""
    for key in ("sent", "resent", "acked", "lost"):
        total = ends.total("sender", key)
        found = ends.evidence.reader.read(named(key), {"session": ends.name}).values()
        if total is None or not found:
            continue
        # Samples go on while the session lingers, and nothing is sent or lost once all is acknowledged.
        last = sum(float(each.values[-1]) for each in found)
        fell = any(np.any(np.diff(each.values) < 0) for each in found)
        ended_ns = int(ends.sender.get("finished_unix_ns", 0))
        late = min(int(each.t_ns[-1]) for each in found) >= ended_ns
        if fell or last > total or (late and last != total):
            yield Message(
                "counts.not-its-result", f"its samples count {last:,.0f} packets {key}, and its result {total:,}"
            )


def _in_flight(ends: Ends) -> Iterator[Message]:
    """Whether what was sent and is not acknowledged is in flight; on one connection, up to what another sent again."""
    if (of := ends.sums) is None or not ends.whole:
        return
    sent, resent, acked, lost = (of[key].sum(axis=0) for key in ("sent", "resent", "acked", "lost"))
    held = of["in_flight_packets"].sum(axis=0)
    least, most = sent - resent - acked, sent - acked
    if ends.upstream:
        off = np.abs(of["in_flight_packets"] - (of["sent"] - of["acked"])) - resent
    else:
        # What is taken for lost is in flight no more, nor what came and whose acknowledgement did not.
        read = (ends.total("receiver", "delivered") or 0) - (ends.total("sender", "acked") or 0)
        least, off = least - lost - read, np.zeros(1)
    if np.any(off > 0) or np.any(held < least) or np.any(held > most):
        at = int(np.argmax(np.maximum(least - held, held - most)))
        yield Message(
            "counts.in-flight-off",
            f"{held[at]:,.0f} packets are in flight at {ends.t_s[at]:.1f} s, of {sent[at]:,.0f} sent "
            f"({resent[at]:,.0f} again) and {acked[at]:,.0f} acknowledged",
        )
    if ends.upstream and np.any(resent > lost):
        at = int(np.argmax(resent - lost))
        yield Message(
            "counts.resent-not-lost", f"it sent {resent[at]:,.0f} packets again, and {lost[at]:,.0f} timed out"
        )


def rate_off(rate: Timed, count: Timed, factor: float = 1.0) -> tuple[float, float]:
    """Distance of a rate of the last second from the rise of its counter, in the median, and the largest rise; nothing
    where there are too few samples to tell.

    An agent counts from its youngest sample that is a second old. Where packets come in bursts another sample, a
    microsecond short of it, would say something else.
    """
    if count.t_s.size != rate.t_s.size or rate.t_s.size < LEAST_SAMPLES:
        return 0.0, 0.0
    t_ns = np.rint(count.t_s * 1e9).astype(np.int64)
    before = np.searchsorted(t_ns, t_ns - 1_000_000_000, side="right") - 1
    old, before = before >= 0, before[before >= 0]
    if not old.any():
        return 0.0, 0.0
    rose = factor * (count.values[old] - count.values[before]) / (count.t_s[old] - count.t_s[before])
    return float(np.median(np.abs(rose - rate.values[old]))), max(1.0, float(rose.max()))


def _rates(ends: Ends) -> Iterator[Message]:
    """Goodput is what its bytes rose by, in bits."""
    for role, rate, count in (
        ("sender", "acknowledged_bps", "acknowledged_bytes"),
        ("receiver", "goodput_bps", "received_bytes"),
    ):
        off, largest = rate_off(ends.of_session(rate), ends.of_session(count), 8)
        if off > CLOCK_OFF * largest:
            yield Message("counts.goodput-off-its-bytes", f"its {role}'s goodput is {off:,.0f} bit/s off its own bytes")


def _acked_bytes(ends: Ends) -> Iterator[Message]:
    """The bytes that are acknowledged are those of the acknowledged packets, of which only the last may not be full."""
    acked = ends.of_session("acknowledged_bytes")
    if (of := ends.sums) is None or not ends.full_packets or not np.array_equal(acked.t_s, ends.t_s):
        return
    packets, most = of["acked"].sum(axis=0), of["sent"].sum(axis=0) - of["resent"].sum(axis=0)
    off = np.maximum(
        ends.mtu * (packets - 1) - acked.values, acked.values - ends.mtu * (packets if ends.upstream else most)
    )
    if off.size and np.any(off > 0):
        at = int(np.argmax(off))
        yield Message(
            "counts.bytes-not-acked",
            f"{acked.values[at]:,.0f} bytes are acknowledged at {acked.t_s[at]:.1f} s, in {packets[at]:,.0f} packets",
        )


def delivered_by(rates: Timed, started_s: float) -> Array:
    """Packets that had been delivered by each sample, from the rates of the last second and of what there is
    before one has passed. A step is a whole number of packets, to the error of the clock."""
    t_ns = np.rint(rates.t_s * 1e9).astype(np.int64)
    before = np.searchsorted(t_ns, t_ns - 1_000_000_000, side="right") - 1
    total = np.zeros(t_ns.size)
    for place, earlier in enumerate(before):
        from_s, had = (rates.t_s[earlier], total[earlier]) if earlier >= 0 else (started_s, 0.0)
        total[place] = had + round(rates.values[place] * (rates.t_s[place] - from_s))
    return total


def _reorder(ends: Ends) -> Iterator[Message]:
    """Whether what the receiver's connections delivered has been read, or waits for earlier data."""
    start_ns, waiting = ends.evidence.start_ns(ends.name), ends.of_receiver("reorder_bytes")
    started_s = (int(ends.receiver.get("started_unix_ns", 0)) - start_ns) / 1e9
    rates, read = ends.of_receiver("delivered_pps"), ends.of_receiver("received_bytes").get(ends.name)
    held = waiting.get(ends.name)
    times = [each.t_s for each in (*rates.values(), *([held] if held else []))]
    if read is None or held is None or not ends.full_packets:
        return
    if any(not np.array_equal(each, read.t_s) for each in times):
        return
    got = np.sum([delivered_by(each, started_s) for each in rates.values()], axis=0)
    off = np.abs(got * ends.mtu - read.values - held.values)
    # The last packet may not be full.
    allowed = ends.mtu * (1 + CLOCK_OFF * got)
    if off.size and np.any(off > allowed):
        at = int(np.argmax(off - allowed))
        yield Message(
            "counts.delivered-not-read",
            f"its receiver had {got[at]:,.0f} packets at {read.t_s[at]:.1f} s, of which {read.values[at]:,.0f} bytes "
            f"were read and {held.values[at]:,.0f} wait",
        )


def _window_used(ends: Ends) -> Iterator[Message]:
    """Whether as much of the session's window is in use as was sent and not read, and what waits to be sent.

    The receiver tells what it has read with each acknowledgement.
    """
    used, read = (ends.of_session(series) for series in ("send_window_used", "received_bytes"))
    window = float(ends.session["send_window_bytes"])
    if used.values.size and float(used.values.max()) > window:
        yield Message(
            "counts.window-overdrawn", f"it uses {used.values.max():,.0f} bytes of a session's window of {window:,.0f}"
        )
    if (
        (of := ends.sums) is None
        or not ends.full_packets
        or not np.array_equal(used.t_s, ends.t_s)
        or not read.t_s.size
    ):
        return
    sent = ends.mtu * (of["sent"] - of["resent"]).sum(axis=0)
    # Both ends are sampled at most an interval apart. Until the receiver's next sample it may have read more.
    after = np.searchsorted(read.t_s, used.t_s, side="left")
    least = sent - np.append(read.values, np.inf)[after] - ends.mtu
    known = ends.told_within_s
    confirmed = (
        np.append(0.0, read.values)[np.searchsorted(read.t_s, used.t_s - known, side="right")] if known else None
    )
    # A sender's queue has room for a 64th of the window (ncp-agent/session/sender.go), and a packet that is filled.
    room = ends.mtu * (min(max(session_window_packets(ends.session) / 64, 2), 1024) + 2)
    off = used.values < least
    if confirmed is not None and ends.upstream:
        off |= used.values > sent - confirmed + room
    if np.any(off):
        at = int(np.argmax(off))
        yield Message(
            "counts.window-used-off",
            f"it uses {used.values[at]:,.0f} bytes of its window at {used.t_s[at]:.1f} s, with {sent[at]:,.0f} sent",
        )


def _handshake(ends: Ends) -> Iterator[Message]:
    """A handshake's answer takes the shortest way back: the receiver's session starts when it is sent, the sender's
    when it is there."""
    started = [result.get("started_unix_ns") for result in (ends.receiver, ends.sender)]
    if None in started or ends.plan.get("place"):
        return  # clocks of other machines are less exact
    limits, kernel = ends.plan["limits"], engine_of(ends.plan).kernel
    took_ms = (int(ends.sender["started_unix_ns"]) - int(ends.receiver["started_unix_ns"])) / 1e6
    ways_ms = [ends.way_ms(path) for path in ends.paths]
    slack_ms = float(limits["delay_error_ms"])
    if took_ms < min(least for least, _ in ways_ms) - slack_ms and not ends.ever(VARYING):
        yield Message(
            "counts.handshake-too-fast",
            f"the handshake's answer took {took_ms:.2f} ms, and the shortest way back {min(ways_ms)[0]:g} ms",
        )
    late_ms = float(limits.get("lateness_max_ms", 100.0)) if kernel else 0.0
    most_ms = min(most for _, most in ways_ms) + slack_ms + late_ms
    alone = ends.session is ends.plan["sessions"][0] and not ends.plan.get("cross_traffic")
    if alone and not ends.ever((*LOSING, *VARYING)) and took_ms > most_ms:
        yield Message(
            "counts.handshake-too-slow",
            f"the handshake's answer took {took_ms:.2f} ms, and the shortest way back at most {most_ms:.2f} ms",
        )


def _ranges_suffice(ends: Ends, link: Link) -> bool:
    """Whether an acknowledgement has room for all that arrives in its interval; else packets wait for a later one. Who
    waited for room fills a socket: so many packets are in a row, and between rows are those of other connections."""
    packets, most = link["queue"].get("packets") or math.inf, ends.session.get("max_ack_ranges", 0)
    in_a_row = packets - (packets - 1) // 2 if len(ends.paths) > 1 and packets < math.inf else math.inf
    arrive = rate_pps(link) * float(ends.session.get("ack_interval_ms", 0.0)) / 1000
    return not most or arrive <= most * in_a_row


def _round_trips(ends: Ends) -> Iterator[Message]:
    """A packet that is not sent again waits in full queues at most, and for its acknowledgement."""
    if not ends.undisturbed or ends.ever((*LOSING, *VARYING)) or ends.total("sender", "lost") != 0:
        return
    found = ends.evidence.samples("rtt_ms", ends.name)
    for each, path in zip(ends.session["connections"], ends.paths, strict=True):
        if not _ranges_suffice(ends, path[0]):
            continue
        samples = found.get(str(each["index"]))
        # There with the delay and through each queue, back with the delay and one frame before it in each.
        most_ms = sum(ends.most_wait_ms(link) for link in path) + float(ends.session.get("ack_interval_ms", 0.0))
        most_ms += float(ends.plan["limits"]["delay_error_ms"]) * 2
        if samples is not None and samples.values.size and (rtt_ms := float(np.median(samples.values))) > most_ms:
            yield Message(
                "counts.rtt-too-long",
                f"connection {each['index']}: its RTT of {rtt_ms:.4g} ms is more than delays, full queues and the wait "
                f"for an acknowledgement take, {most_ms:.4g} ms",
            )


def _rtos(ends: Ends) -> Iterator[Message]:
    """A timeout is near three RTTs (ncp-go), or at least an RTT and what RFC 6298 adds to it."""
    rtts, rtos, acked = (ends.evidence.samples(series, ends.name) for series in ("rtt_ms", "rto_ms", "acked"))
    wait_ms = float(ends.session.get("ack_interval_ms", 0.0))
    for index in rtts.keys() & rtos.keys() & acked.keys():
        settled = acked[index].t_s[acked[index].values >= SETTLED_ACKS]
        rtt_ms, rto_ms = (of.values[np.isin(of.t_s, settled)] for of in (rtts[index], rtos[index]))
        if rtt_ms.size < LEAST_SAMPLES or rtt_ms.size != rto_ms.size:
            continue
        rtt, rto = float(np.median(rtt_ms)), float(np.median(rto_ms))
        if ends.upstream and ends.total("sender", "lost"):
            # What times out keeps its first time, so that a round trip may last several timeouts.
            way_ms = 2 * min(ends.way_ms(path)[0] for path in ends.paths)
            off = rto > MOST_RTO_MS or (
                not ends.ever(VARYING) and rto < min(FIRST_RTO_MS, 3 * way_ms) * (1 - CLOCK_OFF)
            )
        elif ends.upstream:
            # Both follow the same round trips, which differ by the wait for an acknowledgement.
            off = float(np.median(np.abs(rto_ms - np.minimum(3 * rtt_ms, MOST_RTO_MS)))) > 3 * wait_ms
        else:
            # The mean deviation of what is positive is at most twice its mean.
            off = rto < rtt or rto > max(LEAST_RTO_MS, 9 * rtt + wait_ms)
        if off:
            yield Message(
                "counts.rto-off", f"connection {index}: its RTO of {rto:.4g} ms does not follow its RTT of {rtt:.4g} ms"
            )


def of_links(evidence: Evidence) -> Iterator[Message]:
    """Whether links carried what NCP's ends sent over them: what enters a link leaves it, is lost there by chance or by
    a full queue, or is still in it."""
    wires: dict[str, tuple[Link, list[Timed]]] = {}
    starts = [start_of(evidence.events, session["name"]) for session in evidence.plan["sessions"]]
    if None in starts:
        return
    first_ns = min(start for start in starts if start is not None)
    for session in evidence.plan["sessions"]:
        if "mtu_bytes" not in session or "connections" not in session or not Ends(evidence, session).undisturbed:
            return
        found = evidence.reader.read(named("sent"), {"session": session["name"]})
        links = {link["name"]: link for link in evidence.plan["links"]}
        for each in session["connections"]:
            sent = found.get(str(each["index"]))
            if sent is None or not sent.t_ns.size:
                return
            link = links[path_of(each)[0]]
            wires.setdefault(link["name"], (link, []))[1].append(Timed.of(sent, first_ns, None))
    read = {key: evidence.reader.read(named(f"any_link_{key}"), {"direction": "ab"}) for key in OF_A_LINK}
    for name, (link, over) in wires.items():
        mine = {key: of.get(name, Samples.of([], [])) for key, of in read.items()}
        of_link = {key: Timed(of.since(first_ns), of.values) for key, of in mine.items()}
        if not ever_has(link, evidence.plan["timeline"], COPYING):
            queued = _queued_bytes(evidence, link)
            of_host = _of_interface(evidence, link, over, first_ns, queued)
            for said in (*_of_link(evidence, link, over, of_link, queued), *of_host):
                yield said.at(f"link {name} ab")


def _queued_bytes(evidence: Evidence, link: Link) -> float:
    """Bytes left in the queue of the sending host's interface, which the kernel has in no link's backlog."""
    root = {"direction": "ab", "host": link["a"]["host"], "handle": "1:"}
    queued = evidence.reader.read(named("interface_queued_bytes"), root).get(link["name"])
    return float(queued.values[-1]) if queued is not None and queued.values.size else 0.0


def _of_link(
    evidence: Evidence, link: Link, over: Sequence[Timed], of: Mapping[str, Timed], queued: float
) -> Iterator[Message]:
    t_s = of["achieved_bps"].t_s
    if t_s.size < LEAST_SAMPLES or any(of[key].t_s.size != t_s.size for key in OF_A_LINK[:3]):
        return
    frame, kernel = float(link["frame_bytes"]), engine_of(evidence.plan).kernel
    before = max(int(np.searchsorted(t_s, 0.0, side="right")) - 1, 0)
    left = np.cumsum(of["achieved_bps"].values * np.diff(t_s, prepend=t_s[0] - evidence.interval_s)) / 8
    left, drops = (of_all - of_all[before] * (t_s[before] < 0) for of_all in (left, of["drops"].values))
    dropped = frame * drops
    sent = np.sum([np.append(0.0, s.values)[np.searchsorted(s.t_s, t_s, side="right")] for s in over], axis=0)
    lost = frame * sent - left - dropped - of["backlog_bytes"].values
    known = t_s >= max(float(each.t_s[0]) for each in over)
    lost, left, sent, t_s = lost[known], left[known], sent[known], t_s[known]
    # A sequence takes a byte or two less than a frame is planned with, or two more (protobuf's varint).
    error = SEQUENCE_BYTES * sent + CONTROL_BYTES * len(over)
    if kernel:
        # Link and sender are not sampled together, and what waits in the sender's socket is in no link's backlog.
        limits, bps = evidence.plan["limits"], max(float(link["rate_bps"]), float(of["achieved_bps"].values.max()))
        error = (error + 2 * evidence.interval_s * bps / 8 + limits["rate_error"] * left)[-1:]
        lost, sent, t_s = lost[-1:] - queued, sent[-1:], t_s[-1:]
    # An interval's loss is a part of what entered in it: in virtual time all is sampled at once. Where nothing entered,
    # what waited in the queue may have been lost unreported. Of what was sent the sender's hand may hold a part.
    shares = of["achieved_loss"]
    entered = np.diff(sent, prepend=0.0)[np.isin(t_s, shares.t_s)]
    reported = frame * float((shares.values[np.isin(shares.t_s, t_s)] * entered).sum())
    unreported = frame * (sent.size - entered.size) * (float(link["queue"].get("packets") or 0) + 2)
    in_hand = len(over) * _most_in_hand(link) * frame * float(shares.values.sum())
    if not kernel and sent.size and not -error[-1] - in_hand <= lost[-1] - reported <= error[-1] + unreported + in_hand:
        yield Message(
            "counts.loss-misreported",
            f"it reports {reported / frame:,.0f} lost packets, and {lost[-1] / frame:,.0f} of {sent[-1]:,.0f} are gone",
        )
    chance = {each.link["loss"] if each.up else 1.0 for each in link_intervals(link, evidence.plan["timeline"], "ab")}
    most = least = np.zeros(sent.size)
    if len(chance) > 1 or any(link.get(key) for key in LOSING if key != "loss"):
        most = np.full(sent.size, np.inf)
    elif p := chance.pop():
        spread = 2 * CHANCE * np.sqrt(sent * p * (1 - p)) + 2
        least, most = frame * np.maximum(sent * p - spread - _waits(link), 0), frame * (sent * p + spread)
    off = np.maximum(least - lost, lost - most) - error
    if off.size and np.any(off > 0):
        at = int(np.argmax(off))
        yield Message(
            "counts.link-carried-otherwise",
            f"of {sent[at]:,.0f} packets sent into it by {t_s[at]:.1f} s, {lost[at] / frame:,.0f} neither left it, nor "
            f"were dropped, nor are in it; planned are {least[at] / frame:,.0f} to {most[at] / frame:,.0f}",
        )


def _of_interface(
    evidence: Evidence, link: Link, sent: Sequence[Timed], first_ns: int, queued: float
) -> Iterator[Message]:
    """Whether the kernel sent what the session says that it did, by the counter of the host's interface."""
    host = {"direction": "ab", "host": link["a"]["host"]}
    found = evidence.reader.read(named("interface_sent_bytes"), host).get(link["name"])
    if found is None or not found.t_ns.size:
        return
    frame, packets = float(link["frame_bytes"]), sum(float(each.values[-1]) for each in sent)
    from_place = max(int(np.searchsorted(found.t_ns, first_ns, side="right")) - 1, 0)
    left = float(found.values[-1] - found.values[from_place])
    # What a host says beside it (ARP, IPv6) is small, and what it sent last may have been sampled before it left.
    error = SEQUENCE_BYTES * packets + CONTROL_BYTES * len(sent) + 2 * evidence.interval_s * float(link["rate_bps"]) / 8
    if abs(left + queued - frame * packets) > error:
        yield Message(
            "counts.interface-sent-otherwise",
            f"{packets:,.0f} packets were sent into it, and {left:,.0f} bytes left {link['a']['host']}'s interface",
        )


def _waits(link: Link) -> float:
    """Packets that may wait before the place where a link loses them."""
    return (
        float(link["queue"].get("packets") or 0)
        + float(link["rate_bps"]) * float(link["delay_ms"]) / 8000 / link["frame_bytes"]
    )


def _most_in_hand(link: Link) -> float:
    """Returns the packets that a sender may hold that a full queue has stopped (ncp-agent/session/turns.go)."""
    if link["queue"]["mode"] != "backpressure":
        return 0.0
    return min(MOST_IN_HAND, max(1.0, float(link["queue"].get("packets") or math.inf) // 8))
