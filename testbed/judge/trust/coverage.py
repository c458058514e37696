"""The least evidence of a trusted run: what is missing proves nothing, and is not taken for good.

A rule for each kind is in :data:`OF_MACHINE` and :data:`OF_RUN`, of which docs/reference/evidence.md is made; samples
of the network between machines have theirs in :mod:`testbed.judge.trust.underlay`.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from testbed.judge.checks.evidence import Evidence
from testbed.judge.checks.planned import path_of
from testbed.judge.trust.machine import Spans
from testbed.judge.trust.telemetry import CLOCK_S, MOST_GAP_INTERVALS, MOST_GAP_S
from testbed.judge.trust.underlay import span_of
from testbed.message import Message
from testbed.plan.engines import engine_of
from testbed.plan.model import DIRECTIONS, ROLES, Plan
from testbed.plan.place import FABRIC, HERE
from testbed.plan.traffic_types import sent_by
from testbed.series import Samples
from testbed.series.reader import NANOSECONDS
from testbed.series.series import Series
from topologies.link import Link

LEAST_SHARE = 0.8
REPORT_S = 1.0
"""Interval of a collector's reports."""
MOST_APART_S = 3600
"""Longest time from a run's name to its transfer (images may have to be built before), and from there to a sample."""
PCAP_HEAD_BYTES = 24
NAMED = re.compile(r"(\d{8}-\d{6})-|(?:sim|vk)-")
VIRTUAL_EPOCH = "20000101-000000"
AGAIN = "; see logs/ and run again"
Span = tuple[int, int]
"""Start and end of a transfer, in Unix nanoseconds."""


class Machine(NamedTuple):
    """Measurements as :func:`testbed.judge.trust.of_measurements` has them, and the transfer's time (None: unknown)."""

    relay: Mapping[str, Any] | None
    qdiscs: Sequence[Mapping[str, Any]]
    host_load: Spans
    span: Span | None


def _relayed(plan: Plan, machine: Machine) -> Iterator[Message]:
    """Each link once in each direction where links are by the relay, with frames where a transfer crosses it."""
    if machine.relay is None:
        return
    counted, crossed = machine.relay["links"] or (), _crossed(plan)
    for way in ((link["name"], direction) for link in plan["links"] for direction in DIRECTIONS):
        frames = [one.get("frames") for one in counted if (one["link"], one["direction"]) == way]
        if len(frames) != 1 or (way[0] in crossed and not frames[0]):
            said = Message("relay.not-counted", "relay.json does not have its count of frames once, and more than none")
            yield said.at(f"link {' '.join(way)}")


def _counted(plan: Plan, machine: Machine) -> Iterator[Message]:
    """Counters of every interface of the links, at hosts and between them."""
    there = {(qdisc["host"], qdisc["dev"]) for qdisc in machine.qdiscs if qdisc.get("drops") is not None}
    lacking = [" ".join(end) for link in plan["links"] for end in _ends(plan, link) if end not in there]
    if lacking:
        yield Message("queue.not-counted", f"queues of {len(lacking)} interfaces have no counters: {lacking[0]}, …")


def _loaded(_: Plan, machine: Machine) -> Iterator[Message]:
    """Samples that sum to 80% of the transfer or more, none of more than 1 s."""
    if machine.span is None:
        return
    (start, end), spans_s = machine.span, [0.0, *(seconds for seconds, _ in machine.host_load)]
    known_s, transfer_s, longest_s = sum(spans_s), (end - start) / NANOSECONDS, max(spans_s)
    if known_s < LEAST_SHARE * transfer_s or longest_s > 1.1 * MOST_GAP_S:
        yield Message(
            "host-load.too-little",
            f"the host's load is known for {known_s:.1f} of {transfer_s:.1f} s, by samples of up to {longest_s:.1f} s",
        )


OF_MACHINE = {
    "frames that the relay counted (`relay.json`)": _relayed,
    "queues after the run (`provenance.json`)": _counted,
    "the machine's load (`host_load.csv`)": _loaded,
}


def of_machine(plan: Plan, machine: Machine) -> list[Message]:
    """List what is missing of measurements of links and machine."""
    return [said.at("", AGAIN) for rule in OF_MACHINE.values() for said in rule(plan, machine)]


def _ends(plan: Plan, link: Link) -> Iterator[tuple[str, str]]:
    """The interfaces of a link, each with its place; of an emulator on another machine none."""
    for end in (link["a"], link["b"]):
        yield end["host"], end["interface"]
        if plan.get("middles", {}).get(link["name"], HERE) == HERE:
            yield FABRIC, end["middle_interface"]


def _crossed(plan: Plan) -> set[str]:
    """The links that transfers cross."""
    return {link for session in plan["sessions"] for each in session["connections"] for link in path_of(each)}


def _series(plan: Plan) -> Iterator[tuple[Series, Mapping[str, str | None]]]:
    """Series that telemetry has to have: values of the tag that each is grouped by, with the session that their samples
    cover (None: all of the transfer)."""

    def series(measurement: str, field: str, by: str, **tags: str) -> Series:
        return Series("", measurement, field, by, "", "", tuple(tags.items()))

    for direction in DIRECTIONS:
        names = dict.fromkeys(link["name"] for link in plan["links"])
        yield series("link", "backlog_bytes", "link", direction=direction), names
    if not engine_of(plan).kernel:
        return
    yield series("host", "cpu", "run"), {plan["run"]: None}
    interfaces = dict.fromkeys(interface for link in plan["links"] for _, interface in _ends(plan, link))
    yield series("interface", "sent_packets", "interface"), interfaces
    by_tcp = plan["cross_traffic"] or any(session["transport"] == "tcp" for session in plan["sessions"])
    collectors = ("host", "interfaces", "sockets", *(["tcp_info"] if by_tcp else []))
    yield series("collector", "samples", "collector"), dict.fromkeys(collectors)
    faces = [(node, face) for node in plan.get("ndn", {}).get("nodes", []) for face in node["faces"]]
    for role, field in (("consumer", "in_flight"), ("forwarder", "backlog_bytes"), ("producer", "backlog_bytes")):
        own = dict.fromkeys(face["name"] for node, face in faces if node["role"] == role)
        yield series("ndn", field, "face", role=role), own
    # Of other traffic sockets come and go.
    sessions = plan["sessions"] if sent_by(plan).windows else []
    flows = {f"{one['name']}-{each['index']}": one["name"] for one in sessions for each in one["connections"]}
    for role in ROLES:
        own = dict.fromkeys(face["name"] for _, face in faces if face["listen"] == (role == "sender"))
        yield series("socket_queue", "send_queue_bytes", "flow", role=role), own | flows


def _sampled(evidence: Evidence) -> Iterator[Message]:
    """Samples of each link and direction; with a kernel also of the machine's load, and of each interface, collector,
    face of NDN, and socket of NCP or NDN. Over the transfer there are 80% of those that the interval promises, without
    a gap of 1 s (in the simulator: of 3 intervals). None is an hour away from it."""
    kernel = engine_of(evidence.plan).kernel
    for series, groups in _series(evidence.plan):
        found = evidence.reader.read(series) if groups else {}
        every_s = REPORT_S if series.measurement == "collector" else evidence.interval_s
        limit_s = max(MOST_GAP_S if kernel else 0.0, MOST_GAP_INTERVALS * every_s)
        for group, session in groups.items():
            if (span := _span(evidence, session)) and (said := _gap(found.get(group), span, every_s, limit_s)):
                yield said.at(" ".join(("telemetry:", series.measurement, *dict(series.tags).values(), group)))
                break  # one of them tells what has ended


def _span(evidence: Evidence, session: str | None) -> Span | None:
    return span_of([event for event in evidence.events if session in (None, event.session)])


def _gap(samples: Samples | None, span: Span, every_s: float, limit_s: float) -> Message | None:
    """Tell what samples lack of a transfer."""
    (start, end), all_ns = span, np.array([], dtype=np.int64) if samples is None else samples.t_ns
    promised = int((end - start) / NANOSECONDS / every_s) - 2
    t_ns = all_ns[(all_ns >= start) & (all_ns <= end)]
    edges_s = (np.concatenate(([start], t_ns, [end])) - start) / NANOSECONDS
    gap_s, from_s = max(zip(np.diff(edges_s), edges_s, strict=False))
    if gap_s > limit_s:
        return Message("samples.gap", f"has no samples for {gap_s:.1f} s of the transfer, from {from_s:.1f} s on")
    if t_ns.size < LEAST_SHARE * promised or (not all_ns.size and every_s < REPORT_S):
        return Message("samples.too-few", f"has {t_ns.size} of about {max(1, promised)} samples")
    if all_ns.size and max(start - all_ns[0], all_ns[-1] - end) > MOST_APART_S * NANOSECONDS:
        return Message("samples.of-another-time", "has samples of more than an hour before or after the transfer")
    return None


def _clocks(evidence: Evidence) -> Iterator[Message]:
    """A transfer begins in the hour after its run's name, in virtual time after 2000-01-01. An end of each session says
    the same of its begin and end as telemetry does, give or take 50 ms."""
    run, whole = evidence.plan["run"], _span(evidence, None)
    if whole and (named := NAMED.match(run)):
        earliest, latest = (
            time.strftime("%Y%m%d-%H%M%S", time.gmtime(whole[0] // NANOSECONDS - before_s))
            for before_s in (MOST_APART_S, 0)
        )
        if not earliest <= (named[1] or VIRTUAL_EPOCH) <= latest:
            yield Message("clock.not-of-its-name", f"run {run} has a transfer that began at {latest} UTC")
    for name in (session["name"] for session in evidence.plan["sessions"]):
        ends = [one for one in evidence.results if one.get("session") == name and one.get("finished_unix_ns")]
        span = _span(evidence, name)
        for place, key in enumerate(("started_unix_ns", "finished_unix_ns") if ends else ()):
            if span is None or min(abs(one.get(key, 0) - span[place]) for one in ends) > CLOCK_S * NANOSECONDS:
                said = Message("clock.not-of-its-results", f"{key} of its results is not telemetry's")
                yield said.at(f"session {name}")


def _traced(evidence: Evidence) -> Iterator[Message]:
    """Files of each end of each link or session that is to be traced, not empty where a transfer crosses it."""
    plan, traces = evidence.plan, evidence.plan.get("traces")
    if traces is None or evidence.folder is None:
        return
    crossed, least = _crossed(plan), {}
    for link in (link for link in plan["links"] if link["name"] in traces["pcap"]):
        for end in (link["a"], link["b"]):
            least[f"{link['name']}-{end['host']}.pcap"] = PCAP_HEAD_BYTES + (link["name"] in crossed)
    if traces["qlog"]:
        least |= {f"{session['name']}-{role}.sqlog": 1 for session in plan["sessions"] for role in ROLES}
    paths = {name: evidence.folder / "traces" / name for name in least}
    if lacking := [name for name, path in paths.items() if not path.is_file() or path.stat().st_size < least[name]]:
        yield Message("trace.missing", f"{len(lacking)} files in traces/ are not there, or empty: {lacking[0]}, …")


OF_RUN = {
    "samples (`telemetry.lp`)": _sampled,
    "clocks (name, telemetry, `agents/`)": _clocks,
    "traces (`--pcap`, `--qlog`)": _traced,
}


def of_run(evidence: Evidence) -> list[Message]:
    """List what is missing of a run's telemetry and traces, and where its clocks disagree."""
    return [said.at("", AGAIN) for rule in OF_RUN.values() for said in rule(evidence)]
