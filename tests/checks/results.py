"""Cases for each judgement, at and beside its limits, with the whole result that each must give (``results.json``).

``python -m tests.checks.results`` writes what the judgements say now into that file; read the difference.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from testbed.judge.checks.evidence import Evidence
from testbed.series import Samples
from tests.checks.in_memory import (
    ALL,
    START_NS,
    InMemory,
    Where,
    at,
    event,
    evidence_of,
    judged,
    of_session,
    small_plan,
    small_session,
    ticks,
)
from tests.said import all_codes

RECORDED = Path(__file__).with_name("results.json")
Groups = dict[str | tuple[str, Where], dict[str, Samples]]
LATER_NS = START_NS + 2_000_000_000
WHOLE = {"bytes": 10_000_000, "sha256": "c" * 64}
TWO = {"sessions": [small_session("s1", policy="previous"), small_session("s2")]}
S2_STARTS = [event("transfer_start", 2.0, "s2"), event("transfer_end", 12.0, "s2")]
EQUAL = [{**link, "rate_bps": 2_000_000} for link in small_plan()["links"]]


def of_law(t_s: float) -> float:
    """The first connection's share of the window."""
    return 0.8 - 0.3 * math.exp(-t_s / 3.2)


def windows(
    to_s: float = 10.0, off: Mapping[float, float] | None = None, share: Callable[[float], float] = of_law
) -> Groups:
    """Shares by the law, at some times ``off`` it; windows to match, and acknowledgements at the links' rates. The
    second share is a hundredth less: one of both is farther off, whatever a processor's last digit."""
    t, off = ticks(to_s), off or {}
    first = {s: share(s) + off.get(s, 0.0) for s in t}
    return {
        "window_share": {"1": at(t, lambda s: first[s]), "2": at(t, lambda s: 0.99 * (1 - first[s]))},
        "window_packets": {"1": at(t, lambda s: 4000 * first[s]), "2": at(t, lambda s: 4000 * (1 - first[s]))},
        "acked": {"1": at(t, lambda s: 1000 * s), "2": at(t, lambda s: 250 * s)},
    }


def later(samples: Groups, session: str = "s2") -> Groups:
    """The same samples, of a session that starts two seconds later."""
    by = 2_000_000_000
    return {
        (str(name), of_session(session)): {c: Samples(s.t_ns + by, s.values) for c, s in groups.items()}
        for name, groups in samples.items()
    }


def pair(name: str, first: Any, second: Any, to_s: float = 10.0) -> Groups:
    """A series of both connections: a number, or one by the time."""
    return {name: {"1": at(ticks(to_s), first), "2": at(ticks(to_s), second)}}


def constant(*values: float, to_s: float = 10.0) -> dict[str, Samples]:
    """Connections from 1 on, each with a value that stays."""
    return {str(number): at(ticks(to_s), value) for number, value in enumerate(values, 1)}


def without(samples: Groups, from_s: float, to_s: float, connection: str = "2") -> Groups:
    """Samples of a connection between two times are missing."""

    def rest(c: str, s: Samples) -> Samples:
        t_s = s.since(START_NS)
        keep = (t_s <= from_s) | (t_s >= to_s) if c == connection else t_s > -1
        return Samples(s.t_ns[keep], s.values[keep])

    return {name: {c: rest(c, s) for c, s in groups.items()} for name, groups in samples.items()}


LAW = {"judge": "follows_law", "tolerance": 0.03, "from_s": 1, "to_s": 8}
CONSTANT = {"judge": "time_constant", "from_s": 1, "to_s": 8}
RATIO = {"judge": "ratio", "min": 2.0, "max": 4.0, "from_s": 1, "to_s": 9}
SETTLES = {"judge": "settles", "within_s": 4, "from_s": 1, "to_s": 9, "tolerance": 0.25}
LEVEL = {"judge": "level", "series": "rtt_ms", "min": 100.0, "max": 200.0}
GOODPUT = {"judge": "goodput", "min": 0.8}
ROUND_TRIP = {"judge": "round_trip", "max": 1.5, "from_s": 2, "to_s": 8}
FAIR = {"judge": "fair_share", "min": 0.9, "from_s": 2, "to_s": 8}
FILLED = {"judge": "link_filled", "link": "core", "min": 0.5, "max": 0.75, "from_s": 2, "to_s": 8}
PAYLOAD = {"judge": "payload_intact"}
POINTS = {"judge": "points_stored"}
MPTCP = {"judge": "mptcp_carried", "min_bytes": 1000}
EDGES = {"judge": "window_edges", "count": 3, "min_rise": 2.0, "max_rise": 4.0}
CARRIED = [{"link": link, "acked_bytes": 1000} for link in ("fast", "slow")]
PACKETS = {"bytes": 5, "captured": {"payload_bytes": 5, "largest_window_bytes": 1}}
BETWEEN = {"from_s": 9.97, "to_s": 10.02}
CAPTURED = {"judge": "payload_captured"}


def approaching(time_constant_s: float, start: float = 0.5) -> Callable[[float], float]:
    """A share that approaches 0.8."""
    return lambda s: 0.8 + (start - 0.8) * math.exp(-s / time_constant_s)


def ends(sender: dict[str, Any] | None, receiver: dict[str, Any] | None, session: str = "s1") -> list[dict[str, Any]]:
    """Both ends' results, after those of another session."""
    other = [{"session": "other", "role": role, "bytes": 1, "sha256": "f" * 64} for role in ("sender", "receiver")]
    both = (("sender", sender), ("receiver", receiver))
    return other + [{"session": session, "role": role, **own} for role, own in both if own is not None]


def payload(sent: Any = 10_000_000, got: Any = 10_000_000, a: str = "a1" * 32, b: str = "a1" * 32) -> Evidence:
    return evidence_of(small_plan(), {}, results=ends({"bytes": sent, "sha256": a}, {"bytes": got, "sha256": b}))


def sent_for_a_time(sha256: str) -> Evidence:
    """By a session without a length; ``sha256`` is that of so many bytes of what was to be sent."""
    session = {key: value for key, value in small_session().items() if key != "transfer_bytes"}
    own = {"bytes": 900, "sha256": "a1" * 32}
    return evidence_of(small_plan(sessions=[session]), {}, results=ends(own, own | {"payload_sha256": sha256}))


def goodput(bps: float | None, **changes: Any) -> Evidence:
    return evidence_of(small_plan(**changes), {}, results=ends({"goodput_bps": 1.0}, {"goodput_bps": bps}))


def core(
    rates: Mapping[str, float],
    *,
    tcp_bps: float | None = None,
    to_s: float = 10.0,
    from_s: float = 0.0,
    every_s: float = 0.1,
    rate_pps: int = 1000,
) -> Evidence:
    """Sessions, each from its own start on, that deliver so many packets/s of 1000 bytes over a link of so many."""
    link = {**small_plan()["links"][0], "name": "core", "rate_bps": 8000 * rate_pps}
    sessions = [
        small_session(name, connections=[{"index": 1, "link": "core"}, {"index": 2, "link": "edge", "path": ["edge"]}])
        for name in rates
    ]
    t = ticks(to_s, every_s, from_s)
    samples: Groups = {}
    for name, pps in rates.items():
        samples["received_bytes", of_session(name)] = {name: at(t, [pps * 1000 * s for s in t])}
        samples["delivered_pps", of_session(name)] = constant(pps, 9.0, to_s=to_s)
    flows = []
    if tcp_bps is not None:
        half = ticks(to_s, 0.5)
        flows = [{"number": 3, "path": ["core", "edge"]}, {"number": 4, "path": ["edge"]}]
        samples["iperf3_goodput_bps", ALL] = {
            "3": at(half, lambda s: tcp_bps + (1000.0 if s % 1 else -1000.0)),
            "4": at(half, 5e5),
        }
    plan = small_plan(links=[{**link, "name": "edge", "frame_bytes": 1}, link], sessions=sessions, cross_traffic=flows)
    starts = [event("transfer_start", 0.0, name) for name in rates if name != "s1"]
    return evidence_of(plan, samples, events=starts)


def rtts(first: Any, second: Any, to_s: float = 10.0, **changes: Any) -> Evidence:
    return evidence_of(small_plan(**changes), pair("rtt_ms", first, second, to_s))


def edges(*met: int, connections: int = 1) -> Evidence:
    plan = small_plan(sessions=[small_session(connections=[{"index": 1, "link": "fast"}] * connections)])
    return evidence_of(plan, {}, results=ends({"edges_met_bytes": list(met)}, {}))


def subflows(fast: int, slow: int) -> Evidence:
    acked = [{"link": "fast", "acked_bytes": fast}, {"link": "slow", "acked_bytes": slow}]
    return evidence_of(small_plan(), {}, results=ends({"connections": acked}, None))


def captured(counted: int, bytes_: int, sent: int = 2_000, window: int = 100) -> Evidence:
    own = {"bytes": counted, "captured": {"payload_bytes": bytes_, "largest_window_bytes": window}}
    return evidence_of(small_plan(), {}, results=ends({"bytes": sent}, own))


def quick(**changes: Any) -> Any:
    return small_plan(quick=True, **changes)


def pinned(first: float, second: float, to_s: float = 10.0, since_s: float = 2.0) -> Groups:
    """Windows that stop at these packets, with shares and acknowledgements to match the links."""
    t = ticks(to_s)
    return {
        **windows(to_s),
        "window_packets": {
            "1": at(t, lambda s: first if s >= since_s else first - 100 * (since_s - s)),
            "2": at(t, lambda s: second if s >= since_s else second - 100 * (since_s - s)),
        },
    }


HALVES: Groups = {"window_share": windows(share=lambda _: 0.5)["window_share"]}
CAPPED = {"sessions": [small_session(policy_facts={"name": "nkp24", "cap_packets": 256})]}
HALF_LOST = [{**link, "loss": 0.5 if link["name"] == "slow" else 0.0} for link in small_plan()["links"]]
PASSES, FAILS, OPEN, ERROR, NOT_ASKED = "pass", "fail", "insufficient-data", "error", "skipped"

CASES: dict[str, tuple[str, dict[str, Any], Evidence]] = {
    # The law: shares of the window.
    "law: 0.02 off is within 0.03": (PASSES, LAW, evidence_of(small_plan(), windows(off={3.0: 0.02}))),
    "law: 0.04 less is not": (FAILS, LAW, evidence_of(small_plan(), windows(off={3.0: -0.04}))),
    "law: at the limit it holds": (
        PASSES,
        {**LAW, "tolerance": 0.25},
        evidence_of(small_plan(links=EQUAL), windows(share=lambda s: 0.25 if s == 5 else 0.5)),
    ),
    "law: both as far off, the first is told": (
        FAILS,
        {**LAW, "tolerance": 0.2},
        evidence_of(
            small_plan(links=EQUAL),
            {
                **windows(share=lambda _: 0.5),
                "window_share": pair("", lambda s: 0.25 if s == 5 else 0.5, lambda s: 0.75 if s == 5 else 0.5)[""],
            },
        ),
    ),
    "law: off before and after does not count": (
        PASSES,
        LAW,
        evidence_of(small_plan(), windows(off={0.9: 0.2, 8.1: 0.2})),
    ),
    "law: off at the first sample counts": (FAILS, LAW, evidence_of(small_plan(), windows(off={1.0: 0.2}))),
    "law: off at the last sample counts": (FAILS, LAW, evidence_of(small_plan(), windows(off={8.0: 0.2}))),
    "law: a quick run is judged by what it covers": (PASSES, LAW, evidence_of(quick(), windows(6), end_s=6.0)),
    "law: a quick run that is off": (FAILS, LAW, evidence_of(quick(), windows(6, {3.0: 0.04}), end_s=6.0)),
    "law: a quick run that is too short": (OPEN, LAW, evidence_of(quick(), windows(3.5, {3.0: 0.04}), end_s=3.5)),
    "law: a full run that ends early": (OPEN, LAW, evidence_of(small_plan(), windows(3.5), end_s=3.5)),
    "law: off though it ends early": (FAILS, LAW, evidence_of(small_plan(), windows(3.5, {3.0: 0.04}), end_s=3.5)),
    "law: it starts at 1 s": (FAILS, {**LAW, "start_s": 1}, evidence_of(small_plan(), windows())),
    "law: started at 1 s, it is followed": (
        PASSES,
        {**LAW, "start_s": 1},
        evidence_of(small_plan(), windows(share=lambda s: of_law(max(0.0, s - 1)))),
    ),
    "law: off, and nothing more is acknowledged of one": (
        FAILS,
        {**LAW, "rates": "acknowledged"},
        evidence_of(
            small_plan(),
            {**windows(off={3.0: 0.2}), "acked": pair("", lambda s: 1000 * s, lambda s: 250 * min(s, 9))[""]},
        ),
    ),
    "law: by what is acknowledged": (PASSES, {**LAW, "rates": "acknowledged"}, evidence_of(small_plan(), windows())),
    "law: acknowledged at another rate": (
        FAILS,
        {**LAW, "rates": "acknowledged"},
        evidence_of(small_plan(), {**windows(), **pair("acked", lambda s: 250 * s, lambda s: 250 * s)}),
    ),
    "law: nobody counted what is acknowledged, and the windows stay": (
        ERROR,
        {**LAW, "rates": "acknowledged"},
        evidence_of(small_plan(), {**windows(share=lambda _: 0.5), "acked": {"1": at(ticks(10), lambda s: s)}}),
    ),
    "law: no samples of a connection": (
        ERROR,
        LAW,
        evidence_of(small_plan(), {"window_share": {"1": at(ticks(10), of_law)}}),
    ),
    "law: no samples of both": (ERROR, LAW, evidence_of(small_plan(), {})),
    "law: of the second session, by its own clock": (
        PASSES,
        {**LAW, "session": "s2"},
        evidence_of(small_plan(**TWO), later(windows()), events=S2_STARTS),
    ),
    "law: the first connection says nothing there": (
        OPEN,
        LAW,
        evidence_of(small_plan(), without(windows(), 0.9, 8.1, "1")),
    ),
    "law: no sample in a time that is shorter than an interval": (
        OPEN,
        {**LAW, **BETWEEN},
        evidence_of(small_plan(), windows(9.9)),
    ),
    "law: nothing in the judged time": (OPEN, {**LAW, "from_s": 20, "to_s": 30}, evidence_of(small_plan(), windows())),
    "law: three connections, windows stopped": (
        FAILS,
        LAW,
        evidence_of(
            small_plan(
                sessions=[small_session(connections=[{"index": i, "link": x} for i, x in enumerate("abc", 1)])],
                links=[{**small_plan()["links"][0], "name": name} for name in "abc"],
            ),
            {
                "window_share": constant(0.4, 0.3, 0.3),
                "window_packets": constant(800, 800, 800),
                "acked": {
                    "1": at(ticks(10), lambda s: 900 * s),
                    "2": at(ticks(10), lambda s: 899 * s),
                    "3": at(ticks(10), lambda s: 1000 * s),
                },
            },
        ),
    ),
    # What windows and links show where a check fails.
    "law: both windows pinned at the cap": (
        FAILS,
        LAW,
        evidence_of(small_plan(**CAPPED), {**pinned(256, 256), **HALVES}),
    ),
    "law: both windows pinned below the cap": (
        FAILS,
        LAW,
        evidence_of(small_plan(**CAPPED), {**pinned(255, 255), **HALVES}),
    ),
    "law: windows pinned at different heights": (
        FAILS,
        LAW,
        evidence_of(small_plan(**CAPPED), {**pinned(300, 200), **HALVES}),
    ),
    "law: windows pinned at different heights below the cap": (
        FAILS,
        LAW,
        evidence_of(small_plan(**CAPPED), {**pinned(200, 250), **HALVES}),
    ),
    "law: windows pinned a quarter of a packet apart": (
        FAILS,
        LAW,
        evidence_of(small_plan(**CAPPED), {**pinned(200, 200.25), **HALVES}),
    ),
    "law: windows pinned at different heights, one at the cap": (
        FAILS,
        LAW,
        evidence_of(small_plan(**CAPPED), {**pinned(256, 200), **HALVES}),
    ),
    "law: pinned for half of the judged time": (
        FAILS,
        LAW,
        evidence_of(small_plan(**CAPPED), {**pinned(256, 256, since_s=4.5), **HALVES}),
    ),
    "law: pinned for less": (
        FAILS,
        LAW,
        evidence_of(small_plan(**CAPPED), {**pinned(256, 256, since_s=4.6), **HALVES}),
    ),
    "law: pinned by a policy that tells of no cap": (
        FAILS,
        LAW,
        evidence_of(small_plan(), {**pinned(256, 256), **HALVES}),
    ),
    "law: a link is put to use by 90%": (
        FAILS,
        LAW,
        evidence_of(small_plan(), {**windows(off={3.0: 0.1}), **pair("acked", lambda s: 900 * s, lambda s: 224 * s)}),
    ),
    # The ratio of two connections.
    "ratio: at its least": (PASSES, RATIO, evidence_of(small_plan(), pair("window_packets", 2000, 1000))),
    "ratio: at its most": (PASSES, RATIO, evidence_of(small_plan(), pair("window_packets", 4000, 1000))),
    "ratio: below": (
        FAILS,
        RATIO,
        evidence_of(small_plan(), {**pair("window_packets", 1999, 1000), **pair("acked", 1, 1)}),
    ),
    "ratio: above": (FAILS, RATIO, evidence_of(small_plan(), pair("window_packets", lambda s: 4001 + s % 0.2, 1000))),
    "ratio: the median counts, of the judged time": (
        PASSES,
        RATIO,
        evidence_of(small_plan(), pair("window_packets", lambda s: 3000 if 1 <= s <= 9 and s != 5 else 9000, 1000)),
    ),
    "ratio: over the last seconds": (
        PASSES,
        {k: v for k, v in RATIO.items() if k not in ("from_s", "to_s")} | {"last_s": 2},
        evidence_of(small_plan(), pair("window_packets", lambda s: 3000 if s >= 8 else 9000, 1000)),
    ),
    "ratio: the last seconds are more than there are": (
        PASSES,
        {"judge": "ratio", "min": 2.0, "max": 4.0, "last_s": 30, "connections": ["2", "1"]},
        evidence_of(small_plan(), pair("window_packets", 1000, 3000)),
    ),
    "ratio: not before": (
        OPEN,
        {"judge": "ratio", "min": 2.0, "max": 4.0, "last_s": 2, "not_before_s": 8.1},
        evidence_of(small_plan(), pair("window_packets", 3000, 1000)),
    ),
    "ratio: just then": (
        PASSES,
        {"judge": "ratio", "min": 2.0, "max": 4.0, "last_s": 2, "not_before_s": 8},
        evidence_of(small_plan(), pair("window_packets", 3000, 1000)),
    ),
    "ratio: against nothing": (FAILS, RATIO, evidence_of(small_plan(), pair("window_packets", 3000, 0))),
    "ratio: nothing against nothing": (OPEN, RATIO, evidence_of(small_plan(), pair("window_packets", 0, 0))),
    "ratio: nothing against something": (FAILS, RATIO, evidence_of(small_plan(), pair("window_packets", 0, 100))),
    "ratio: nearly at the same time": (
        PASSES,
        RATIO,
        evidence_of(
            small_plan(), {"window_packets": {"1": at(ticks(10), 3000), "2": at([s - 0.04 for s in ticks(10)], 1000)}}
        ),
    ),
    "ratio: the run ends early": (
        OPEN,
        RATIO,
        evidence_of(small_plan(), pair("window_packets", 3000, 1000, 5.0), end_s=5.0),
    ),
    "ratio: a quick run's seconds": (
        PASSES,
        {**RATIO, "at_least_s": 4},
        evidence_of(quick(), pair("window_packets", 3000, 1000, 5.0), end_s=5.0),
    ),
    "ratio: no samples": (ERROR, RATIO, evidence_of(small_plan(), {"window_packets": {"2": at([1.0], [1.0])}})),
    "ratio: of what is delivered in the second session": (
        PASSES,
        {**RATIO, "session": "s2", "series": "delivered_pps"},
        evidence_of(small_plan(**TWO), later(pair("delivered_pps", 900, 300)), events=S2_STARTS),
    ),
    "ratio: no sample in a time that is shorter than an interval": (
        OPEN,
        {**RATIO, **BETWEEN},
        evidence_of(small_plan(), pair("window_packets", 3000, 1000, 9.9)),
    ),
    # A time constant: 3.2 s by the law, to a share of 0.8.
    "time constant: the law's": (PASSES, CONSTANT, evidence_of(small_plan(), windows())),
    "time constant: 8% more": (PASSES, CONSTANT, evidence_of(small_plan(), windows(share=approaching(3.456)))),
    "time constant: 12% more": (FAILS, CONSTANT, evidence_of(small_plan(), windows(share=approaching(3.584)))),
    "time constant: 12% less": (FAILS, CONSTANT, evidence_of(small_plan(), windows(share=approaching(2.816)))),
    "time constant: twice, from near its limit": (
        FAILS,
        CONSTANT,
        evidence_of(small_plan(), windows(share=approaching(6.4, 0.85))),
    ),
    "time constant: begun a second late, from elsewhere": (
        PASSES,
        CONSTANT,
        evidence_of(small_plan(), windows(share=lambda s: approaching(3.2, 0.1)(s - 1))),
    ),
    "time constant: nothing moves": (FAILS, CONSTANT, evidence_of(small_plan(), windows(share=lambda _: 0.5))),
    "time constant: a quick run": (PASSES, CONSTANT, evidence_of(quick(), windows(6), end_s=6.0)),
    "time constant: a quick run that is too short": (OPEN, CONSTANT, evidence_of(quick(), windows(3.5), end_s=3.5)),
    "time constant: a full run that ends early": (OPEN, CONSTANT, evidence_of(small_plan(), windows(3.5), end_s=3.5)),
    "time constant: no samples": (ERROR, CONSTANT, evidence_of(small_plan(), {})),
    # Settled within a time.
    "settles: just in time": (
        PASSES,
        SETTLES,
        evidence_of(small_plan(), pair("window_packets", lambda s: 3000 if s >= 5 else 2999, 1000)),
    ),
    "settles: one sample late": (
        FAILS,
        SETTLES,
        evidence_of(small_plan(), pair("window_packets", lambda s: 3000 if s >= 5.1 else 2999, 1000)),
    ),
    "settles: at the other limit": (PASSES, SETTLES, evidence_of(small_plan(), pair("window_packets", 5000, 1000))),
    "settles: as early as it may": (
        PASSES,
        {**SETTLES, "earliest_s": 3},
        evidence_of(small_plan(), pair("window_packets", lambda s: 3000 if s >= 4 else 2999, 1000)),
    ),
    "settles: too early": (
        FAILS,
        {**SETTLES, "earliest_s": 3},
        evidence_of(small_plan(), pair("window_packets", lambda s: 3000 if s >= 3.9 else 2999, 1000)),
    ),
    "settles: never": (
        FAILS,
        SETTLES,
        evidence_of(small_plan(), {**pair("window_packets", 2999, 1000), **pair("acked", 1, 1)}),
    ),
    "settles: not for good": (
        FAILS,
        SETTLES,
        evidence_of(small_plan(), pair("window_packets", lambda s: 9000 if s == 8 else 4000, 1000)),
    ),
    "settles: what is after the time does not count": (
        PASSES,
        SETTLES,
        evidence_of(small_plan(), pair("window_packets", lambda s: 9000 if s > 9 or s < 1 else 4000, 1000)),
    ),
    "settles: at a target of its own": (
        PASSES,
        {**SETTLES, "target": 2.0, "connections": ["2", "1"]},
        evidence_of(small_plan(), pair("window_packets", 1000, 2100)),
    ),
    "settles: the run ends early, settled": (
        OPEN,
        SETTLES,
        evidence_of(small_plan(), pair("window_packets", 4000, 1000, 7.0), end_s=7.0),
    ),
    "settles: the run ends early, and it never was": (
        FAILS,
        SETTLES,
        evidence_of(small_plan(), pair("window_packets", 1000, 1000, 6.5), end_s=6.5),
    ),
    "settles: the run ends before it had to": (
        OPEN,
        SETTLES,
        evidence_of(small_plan(), pair("window_packets", 1000, 1000, 6.0), end_s=6.0),
    ),
    "settles: a quick run": (
        PASSES,
        SETTLES,
        evidence_of(quick(), pair("window_packets", lambda s: 4000 if s > 3 else 1, 1000, 6.0), end_s=6.0),
    ),
    "settles: a quick run that is too short": (
        OPEN,
        SETTLES,
        evidence_of(quick(), pair("window_packets", 4000, 1000, 5.5), end_s=5.5),
    ),
    "settles: no two at the same time": (OPEN, SETTLES, evidence_of(small_plan(), pair("window_packets", 0, 0))),
    "settles: in the second session": (
        PASSES,
        {**SETTLES, "session": "s2", "series": "delivered_pps"},
        evidence_of(small_plan(**TWO), later(pair("delivered_pps", 1000, 250)), events=S2_STARTS),
    ),
    "settles: nearly at the same time": (
        PASSES,
        SETTLES,
        evidence_of(
            small_plan(), {"window_packets": {"1": at(ticks(10), 4000), "2": at([s - 0.04 for s in ticks(10)], 1000)}}
        ),
    ),
    "settles: every second sample is at the same time": (
        PASSES,
        SETTLES,
        evidence_of(small_plan(), {"window_packets": {"1": at(ticks(10), 4000), "2": at(ticks(10, 0.2), 1000)}}),
    ),
    "settles: never, and rising": (
        FAILS,
        SETTLES,
        evidence_of(small_plan(), pair("window_packets", lambda s: 1000 + 100 * s, 1000)),
    ),
    # A level.
    "level: at its ends": (PASSES, {**LEVEL, "from_s": 1, "to_s": 9}, rtts(100.0, 200.0)),
    "level: at its lower end": (PASSES, {**LEVEL, "from_s": 1, "to_s": 9}, rtts(100.0, 150.0)),
    "level: below in one sample": (
        FAILS,
        {**LEVEL, "from_s": 1, "to_s": 9},
        rtts(150.0, lambda s: 99.9 if s == 9 else 150.0),
    ),
    "level: above in one sample": (
        FAILS,
        {**LEVEL, "from_s": 1, "to_s": 9},
        rtts(lambda s: 200.25 if s == 1 else 199.0, 150.0),
    ),
    "level: of one connection": (PASSES, {**LEVEL, "from_s": 1, "to_s": 9, "connections": ["2"]}, rtts(1.0, 150.0)),
    "level: at a time": (
        PASSES,
        {**LEVEL, "at_s": 3},
        rtts(lambda s: 110.0 if s == 3 else 1.0, lambda s: 180.0 if s == 3 else 1.0),
    ),
    "level: not at a time": (
        FAILS,
        {**LEVEL, "at_s": 3, "connections": ["1"]},
        evidence_of(small_plan(), {**pair("rtt_ms", lambda s: 90.0 if s == 3 else 150.0, 1.0), **pinned(256, 256)}),
    ),
    "level: no sample at that time": (
        OPEN,
        {**LEVEL, "at_s": 3},
        evidence_of(small_plan(), without(pair("rtt_ms", 150.0, 150.0), 2.85, 3.15)),
    ),
    "level: the run ends early": (OPEN, {**LEVEL, "from_s": 1, "to_s": 12}, rtts(150.0, 150.0)),
    "level: half of the samples are missing": (
        PASSES,
        {**LEVEL, "from_s": 0, "to_s": 10},
        evidence_of(small_plan(), without(pair("rtt_ms", 150.0, 150.0), 2.0, 7.1)),
    ),
    "level: more than half of them": (
        OPEN,
        {**LEVEL, "from_s": 0, "to_s": 10},
        evidence_of(small_plan(), without(pair("rtt_ms", 150.0, 150.0), 2.0, 7.2)),
    ),
    "level: no sample in a time that is shorter than an interval": (
        OPEN,
        {**LEVEL, **BETWEEN},
        rtts(150.0, 150.0, 9.9),
    ),
    "level: a quick run of a second": (PASSES, {**LEVEL, "from_s": 1, "to_s": 9}, rtts(150.0, 150.0, 2.0, quick=True)),
    "level: a quick run of less": (OPEN, {**LEVEL, "from_s": 1, "to_s": 9}, rtts(150.0, 150.0, 1.8, quick=True)),
    "level: in the second session": (
        PASSES,
        {**LEVEL, "session": "s2", "from_s": 1, "to_s": 9},
        evidence_of(small_plan(**TWO), later(pair("rtt_ms", 120.0, 130.0)), events=S2_STARTS),
    ),
    "level: it fails with pinned windows": (
        FAILS,
        {**LEVEL, "from_s": 1, "to_s": 9},
        evidence_of(small_plan(), {**pair("rtt_ms", 90.0, 90.0), **pinned(256, 256)}),
    ),
    "level: it fails with the only window pinned": (
        FAILS,
        {**LEVEL, "from_s": 1, "to_s": 9},
        evidence_of(
            small_plan(sessions=[small_session(connections=[{"index": 1, "link": "fast"}])]),
            {name: {"1": of["1"]} for name, of in {**pair("rtt_ms", 90.0, 90.0), **pinned(256, 256)}.items()},
        ),
    ),
    # Goodput: 1250 packets/s of 1000 bytes are 10 Mbit/s.
    "goodput: at its least": (PASSES, GOODPUT, goodput(8e6)),
    "goodput: less": (FAILS, GOODPUT, goodput(7.99e6)),
    "goodput: of one link": (PASSES, {**GOODPUT, "links": ["slow"]}, goodput(1.7e6)),
    "goodput: of a link that loses half": (PASSES, GOODPUT, goodput(7.3e6, links=HALF_LOST)),
    "goodput: of no link": (ERROR, {**GOODPUT, "links": ["fast", "x"]}, goodput(1e6)),
    "goodput: the receiver did not finish": (ERROR, GOODPUT, goodput(0.0)),
    "goodput: the receiver left nothing": (
        ERROR,
        GOODPUT,
        evidence_of(small_plan(), {}, results=ends({"goodput_bps": 1e9}, None)),
    ),
    "goodput: in a time": (
        PASSES,
        {**GOODPUT, "from_s": 2, "to_s": 6},
        evidence_of(small_plan(), pair("acked", lambda s: 900 * s, lambda s: 150 * s)),
    ),
    "goodput: until the end": (
        PASSES,
        {**GOODPUT, "from_s": 2, "to_s": 10},
        evidence_of(small_plan(), pair("acked", lambda s: 900 * s, lambda s: 150 * s)),
    ),
    "goodput: after the end": (
        OPEN,
        {**GOODPUT, "from_s": 2, "to_s": 10.5},
        evidence_of(small_plan(), pair("acked", lambda s: 900 * s, lambda s: 150 * s)),
    ),
    "goodput: of a run that did not end": (
        OPEN,
        {**GOODPUT, "from_s": 2, "to_s": 12},
        evidence_of(small_plan(), pair("acked", lambda s: 1000 * s, lambda s: 250 * s), end_s=None),
    ),
    "goodput: nothing counted": (OPEN, {**GOODPUT, "from_s": 2, "to_s": 6}, evidence_of(small_plan(), {})),
    "goodput: of the second session": (
        PASSES,
        {**GOODPUT, "session": "s2"},
        evidence_of(small_plan(**TWO), {}, results=ends({}, {"goodput_bps": 9e6}, "s2")),
    ),
    "goodput: of the second session, which ended before": (
        OPEN,
        {**GOODPUT, "session": "s2", "from_s": 2, "to_s": 8},
        evidence_of(
            small_plan(**TWO),
            later(pair("acked", lambda s: 1000 * s, lambda s: 250 * s)),
            events=[event("transfer_start", 2.0, "s2"), event("transfer_end", 9.0, "s2")],
        ),
    ),
    # Round trips: 2 × 50 and 2 × 20 ms, and half of 50 ms.
    "round trip: at its most": (PASSES, ROUND_TRIP, rtts(187.5, 65.0)),
    "round trip: more": (FAILS, ROUND_TRIP, rtts(125.0, 97.6)),
    "round trip: the mean counts, of the judged time": (
        PASSES,
        ROUND_TRIP,
        rtts(lambda s: 125.0 if 2 <= s <= 8 else 9e3, lambda s: 65.0 + (1 if s >= 5 else -1)),
    ),
    "round trip: it ends early": (OPEN, ROUND_TRIP, rtts(125.0, 65.0, 7.5)),
    "round trip: it ends nearly": (PASSES, ROUND_TRIP, rtts(125.0, 65.0, 7.9)),
    "round trip: a quick run of all of it but a bit": (OPEN, ROUND_TRIP, rtts(125.0, 65.0, 7.7, quick=True)),
    "round trip: a connection says nothing there": (
        OPEN,
        ROUND_TRIP,
        evidence_of(small_plan(), without(pair("rtt_ms", 125.0, 65.0), 1.9, 8.1)),
    ),
    "round trip: the first connection says nothing there": (
        OPEN,
        ROUND_TRIP,
        evidence_of(small_plan(), without(pair("rtt_ms", 125.0, 65.0), 1.9, 8.1, "1")),
    ),
    "round trip: no sample in a time that is shorter than an interval": (
        OPEN,
        {**ROUND_TRIP, **BETWEEN},
        rtts(125.0, 65.0, 9.9),
    ),
    "round trip: of the second session": (
        PASSES,
        {**ROUND_TRIP, "session": "s2"},
        evidence_of(small_plan(**TWO), later(pair("rtt_ms", 125.0, 65.0)), events=S2_STARTS),
    ),
    # Shares of those who run at the same time.
    "fair share: equal": (PASSES, {**FAIR, "min": 1.0, "least": 1.0}, core({"s1": 100, "b": 100, "c": 100})),
    "fair share: of 80 Gbit/s": (PASSES, FAIR, core({"s1": 1e7, "b": 1e7})),
    "fair share: one has it all": (FAILS, {**FAIR, "min": 0.51}, core({"s1": 100, "b": 0})),
    "fair share: at its least": (PASSES, {**FAIR, "min": 0.5}, core({"s1": 100, "b": 0})),
    "fair share: nobody has anything": (FAILS, FAIR, core({"s1": 0, "b": 0})),
    "fair share: the poorest has half": (PASSES, {**FAIR, "min": 0.5, "least": 0.5}, core({"s1": 300, "b": 100})),
    "fair share: the poorest has less": (FAILS, {**FAIR, "min": 0.5, "least": 0.51}, core({"s1": 300, "b": 100})),
    "fair share: of some": (PASSES, {**FAIR, "sessions": ["s1", "c"]}, core({"s1": 100, "b": 1, "c": 100})),
    "fair share: of one that is not there": (ERROR, {**FAIR, "sessions": ["s1", "x"]}, core({"s1": 100, "b": 1})),
    "fair share: alone": (ERROR, FAIR, core({"s1": 100})),
    "fair share: with TCP": (PASSES, {**FAIR, "cross_traffic": True}, core({"s1": 62.5, "b": 62.5}, tcp_bps=5e5)),
    "fair share: a session without samples": (ERROR, FAIR, evidence_of(small_plan(), {})),
    "fair share: not there to the end": (ERROR, FAIR, core({"s1": 100, "b": 100}, to_s=7.2)),
    "fair share: there to nearly the end": (PASSES, FAIR, core({"s1": 100, "b": 100}, to_s=7.3)),
    "fair share: there from nearly the start": (PASSES, FAIR, core({"s1": 100, "b": 100}, from_s=2.6)),
    "fair share: not there from the start": (ERROR, FAIR, core({"s1": 100, "b": 100}, from_s=2.7)),
    "fair share: two samples": (PASSES, {**FAIR, "to_s": 4}, core({"s1": 100, "b": 100}, every_s=0.9, to_s=9.9)),
    "fair share: one sample": (ERROR, {**FAIR, "to_s": 3}, core({"s1": 100, "b": 100}, every_s=2.5)),
    # A link that all share.
    "filled: at its least": (PASSES, FILLED, core({"s1": 300, "b": 200})),
    "filled: at its most": (PASSES, FILLED, core({"s1": 300, "b": 450})),
    "filled: of 80 Gbit/s": (PASSES, FILLED, core({"s1": 3e6, "b": 2e6}, rate_pps=10_000_000)),
    "filled: less": (FAILS, FILLED, core({"s1": 300, "b": 199})),
    "filled: more": (FAILS, FILLED, core({"s1": 300, "b": 451})),
    "filled: with TCP's frames": (PASSES, FILLED, core({"s1": 300, "b": 100}, tcp_bps=1e6)),
    "filled: the other link": (FAILS, {**FILLED, "link": "edge"}, core({"s1": 300, "b": 100}, tcp_bps=1e6)),
    "filled: no such link": (ERROR, {**FILLED, "link": "x"}, core({"s1": 300})),
    # Facts.
    "payload: whole": (PASSES, PAYLOAD, payload()),
    "payload: another hash": (FAILS, PAYLOAD, payload(b="b2" * 32)),
    "payload: a byte less arrived": (FAILS, PAYLOAD, payload(got=9_999_999)),
    "payload: more was sent, and all else too": (FAILS, PAYLOAD, payload(sent=10_000_001, got=10_000_001, b="b2" * 32)),
    "payload: of the second session": (
        PASSES,
        {**PAYLOAD, "session": "s2"},
        evidence_of(small_plan(**TWO), {}, results=ends(WHOLE, WHOLE, "s2")),
    ),
    "payload: no result": (
        ERROR,
        PAYLOAD,
        evidence_of(small_plan(), {}, results=ends({"bytes": 1, "sha256": "x"}, None)),
    ),
    "payload: sent for a time, as it was to be": (PASSES, PAYLOAD, sent_for_a_time("a1" * 32)),
    "payload: the same at both ends, and not what was to be sent": (FAILS, PAYLOAD, sent_for_a_time("b2" * 32)),
    "payload: no hash": (ERROR, PAYLOAD, payload(a="")),
    "payload: no bytes": (ERROR, PAYLOAD, payload(got="all")),
    "payload: the agent says why": (
        ERROR,
        PAYLOAD,
        evidence_of(small_plan(), {}, results=ends({"bytes": 1, "sha256": "", "error": "no route"}, {})),
    ),
    "payload: of a time": (
        ERROR,
        PAYLOAD,
        evidence_of(
            small_plan(sessions=[{k: v for k, v in small_session().items() if k != "transfer_bytes"}]),
            {},
            results=ends({"bytes": 1, "sha256": "x"}, {"bytes": 1, "sha256": "x"}),
        ),
    ),
    "points: all": (PASSES, POINTS, evidence_of(small_plan(), {}, file_points=1200, database_points=1200)),
    "points: one less": (FAILS, POINTS, evidence_of(small_plan(), {}, file_points=1200, database_points=1199)),
    "points: a thousand more": (FAILS, POINTS, evidence_of(small_plan(), {}, file_points=1200, database_points=2200)),
    "points: no file": (ERROR, POINTS, evidence_of(small_plan(), {}, database_points=5)),
    "points: no database": (ERROR, POINTS, evidence_of(small_plan(), {}, file_points=5)),
    "points: no database in the simulator": (
        NOT_ASKED,
        POINTS,
        evidence_of(small_plan(engine="sim"), {}, file_points=5),
    ),
    "points: no database in the guest": (
        NOT_ASKED,
        POINTS,
        evidence_of(small_plan(engine="vkernel"), {}, file_points=5),
    ),
    "mptcp: each subflow": (PASSES, MPTCP, subflows(1000, 25_000)),
    "mptcp: one did not": (FAILS, MPTCP, subflows(25_000, 999)),
    "mptcp: none": (FAILS, MPTCP, subflows(0, 0)),
    "mptcp: by default 10,000 bytes": (FAILS, {"judge": "mptcp_carried"}, subflows(10_000, 9_999)),
    "mptcp: in the second session": (
        PASSES,
        {**MPTCP, "session": "s2"},
        evidence_of(small_plan(**TWO), {}, results=ends({"connections": CARRIED}, None, "s2")),
    ),
    "mptcp: a link that the sender says nothing of": (
        FAILS,
        MPTCP,
        evidence_of(small_plan(), {}, results=ends({"connections": CARRIED[:1]}, None)),
    ),
    "mptcp: no result": (ERROR, MPTCP, evidence_of(small_plan(), {}, results=ends(None, {}))),
    "edges: each twice to four times": (PASSES, EDGES, edges(1000, 2000, 8000)),
    "edges: too far": (FAILS, EDGES, edges(1000, 2000, 8001)),
    "edges: not far enough": (FAILS, EDGES, edges(1000, 1999, 4000)),
    "edges: one less": (FAILS, EDGES, edges(1000, 2000)),
    "edges: two of two": (PASSES, {**EDGES, "count": 2}, edges(1000, 2000)),
    "edges: one of one": (PASSES, {**EDGES, "count": 1}, edges(1234)),
    "edges: none of none": (PASSES, {**EDGES, "count": 0}, edges()),
    "edges: in the second session": (
        PASSES,
        {**EDGES, "count": 1, "session": "s2"},
        evidence_of(small_plan(**TWO), {}, results=ends({"edges_met_bytes": [1]}, None, "s2")),
    ),
    "edges: not counted": (ERROR, EDGES, evidence_of(small_plan(), {}, results=ends({}, {"edges_met_bytes": [1]}))),
    "edges: no result": (ERROR, EDGES, evidence_of(small_plan(), {})),
    "captured: all": (PASSES, CAPTURED, captured(2_000, 2_000)),
    "captured: a window more": (PASSES, CAPTURED, captured(1_000, 1_100)),
    "captured: more than a window": (FAILS, CAPTURED, captured(1_000, 2_101, window=1_100)),
    "captured: less": (FAILS, CAPTURED, captured(2_000, 999)),
    "captured: nothing": (FAILS, CAPTURED, captured(0, 0)),
    "captured: one byte": (PASSES, CAPTURED, captured(1, 1)),
    "captured: the sender counted less, and none arrived": (FAILS, CAPTURED, captured(2_000, 0, sent=999)),
    "captured: in the second session": (
        PASSES,
        {**CAPTURED, "session": "s2"},
        evidence_of(small_plan(**TWO), {}, results=ends({"bytes": 5}, PACKETS, "s2")),
    ),
    "captured: no packets": (ERROR, CAPTURED, evidence_of(small_plan(), {}, results=ends({"bytes": 1}, {"bytes": 1}))),
    "captured: no sender": (
        ERROR,
        CAPTURED,
        evidence_of(small_plan(), {}, results=ends(None, {"bytes": 1, "captured": {}})),
    ),
    "captured: no receiver": (ERROR, CAPTURED, evidence_of(small_plan(), {}, results=ends({"bytes": 1}, None))),
    # What nobody can judge.
    "no such session": (ERROR, {**PAYLOAD, "session": "x"}, evidence_of(small_plan(**TWO), {})),
    "never started": (ERROR, LAW, Evidence(small_plan(), InMemory({}, [], "r1"))),
    "of another policy": (NOT_ASKED, {**PAYLOAD, "policy": ["cubic", "reno"]}, evidence_of(small_plan(**TWO), {})),
    "of another policy than the session's": (
        NOT_ASKED,
        {**PAYLOAD, "policy": ["previous"], "session": "s2"},
        evidence_of(small_plan(**TWO), {}),
    ),
}


def result(name: str) -> dict[str, Any]:
    """What the judgement says of a case now."""
    _, check, evidence = CASES[name]
    found = judged(check, evidence)
    return {**found.model_dump(mode="json", exclude={"name", "judge"}), "codes": all_codes(found.said)}


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(result(name), ensure_ascii=False)}" for name in CASES)
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
