"""Expectations in plain words, and numbers as people read them."""

import json
from collections.abc import Mapping
from typing import Any

from testbed.judge.checks import planned
from testbed.judge.checks.result import Verdict
from testbed.judge.status import Status
from testbed.plan.engines import is_exact
from testbed.plan.link_words import bits_per_second, events_in_words, impairments
from testbed.plan.model import Plan, Session
from testbed.plan.traffic_types import sent_by, traffic_of
from topologies.link import rate_pps

STATUS: Mapping[Status, str] = {
    Status.PASS: "holds",
    Status.INCONCLUSIVE: "inconclusive",
    Status.INSUFFICIENT_DATA: "has too little data",
    Status.UNSUPPORTED: "can't be made here",
    Status.MISSING: "is missing",
    Status.ERROR: "can't be judged",
    Status.FAIL: "fails",
    Status.UNTRUSTED: "not to be trusted",
    Status.SKIPPED: "skipped",
}
"""Words of a check's status, the same on every page and in every table."""
OUTCOME = {"xfail": "fails, as expected", "xpass": "holds, unexpectedly"}
"""Words of an expected failure's outcome, in place of its status."""


def how_sure(verdict: Verdict, provenance: Mapping[str, Any]) -> str:
    """The scope of a run's verdict, in a sentence; "" where the verdict itself says that it proves nothing."""
    if verdict.broken or not verdict.trust.trusted:
        return ""
    if is_exact(provenance):
        return "One run in virtual time: made again with its seed, it comes out the same."
    return "One run, with links and machine within their limits; it can't tell how far others would differ."


def the_links(plan: Plan) -> list[str]:
    """One sentence per link."""
    sentences = []
    for link in plan["links"]:
        lossless = [] if link["loss"] or "gilbert_elliott" in link else ["no loss"]
        queue = link.get("queue", {})
        waiting = f", a queue of {queue['packets']} packets" if "packets" in queue else ""
        if traffic_of(plan).waits_in_sockets and queue.get("mode") == "backpressure":
            waiting = ", what is above the rate waits in the sender's socket"
        first = "at first " if any(action.get("link") == link["name"] for action in plan["timeline"]) else ""
        sentences.append(
            f"{link['name']}: {first}{rate_pps(link):g} packets/s ({bits_per_second(link['rate_bps'])} on the wire), "
            f"{link['delay_ms']:g} ms each way, {', '.join([*lossless, *impairments(link)])}{waiting}."
        )
    return sentences


def of_events(plan: Plan) -> dict[str, str]:
    """The words of what the timeline does, by the texts that telemetry has for it."""
    return dict(zip((action["text"] for action in plan["timeline"]), events_in_words(plan), strict=True))


def the_session(plan: Plan, session: Session) -> str:
    """A session's transfer, with its windows."""
    if "in_words" in session:
        return str(session["in_words"])
    if "does" in session:
        return (
            f"From {session['sender_host']} to {session['receiver_host']} by the kernel's TCP, congestion control "
            f"{session['policy']}: {session['sender_host']} {session['does']}."
        )
    links = [connection["link"] for connection in session["connections"]]
    window = planned.session_window_packets(session)
    facts = session["policy_facts"]
    start = " / ".join(f"{w:g}" for w in planned.initial_windows(session).values()) + " packets"
    if not session.get("initial_windows") and not facts.get("normalised", True):
        start = str(facts["initial"])
    rule = f" ({str(facts['rule']).rstrip('.')})" if facts.get("rule") else ""
    run = "".join(f" The {role} is {code}." for role, code in session.get("code", {}).items())
    over = "one connection"
    if len(set(links)) == 1 < len(links):
        over = f"{len(links)} connections over one link"
    elif len(links) > 1:
        over = f"one connection over each of {len(links)} links"
    if "carrier" in session:
        return (
            f"{session['sender_host']} sends {size(session['transfer_bytes'])} to {session['receiver_host']} by "
            f"{sent_by(plan).shown_as}, with a subflow over each of {len(links)} links."
        )
    return (
        f"{session['sender_host']} sends {size(session['transfer_bytes'])} to {session['receiver_host']} with {over}. "
        f"Windows follow the policy {session['policy']}{rule}. The session's window is {window:g} packets of "
        f"{session['mtu_bytes']:,} bytes; the connections start at {start}.{run}"
    )


def size(value: float) -> str:
    """``48 MiB``."""
    for limit, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= limit:
            return f"{value / limit:.4g} {unit}"
    return f"{value:g} bytes"


def figure(value: Any) -> str:
    """A check's measured or expected value."""
    if value is None:
        return "–"
    if isinstance(value, (bool, str)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) < 1:
        return f"{value:.4f}" if value else "0"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"


def tolerance(value: float | None) -> str:
    """A check's."""
    return "–" if value is None else f"±{value:g}" if value else "exact"


def pretty(value: Any) -> str:
    """A JSON value as indented text."""
    return json.dumps(value, indent=2, ensure_ascii=False)
