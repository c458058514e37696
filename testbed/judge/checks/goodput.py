"""Checks of how much a session gets: ``goodput``, of what links carry, and ``multipath``, of what paths allow."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field

from testbed.judge.checks import explain, planned
from testbed.judge.checks.evidence import CannotJudge, Evidence
from testbed.judge.checks.parameters import WITH_SESSIONS, ConnectionIndex, OfSession, Seconds
from testbed.judge.checks.planned import Carried
from testbed.judge.checks.result import CheckResult
from testbed.judge.checks.together import session_rates_bps
from testbed.judge.status import Status
from testbed.message import Message, unknown
from testbed.plan.model import Plan, Session
from topologies.link import rate_pps


class Goodput(OfSession):
    """Goodput over the bound is at least ``min``.

    Over the whole transfer, as the receiver sees it; with ``from`` and ``to`` what is acknowledged meanwhile. The
    bound is what ``links`` (all, if not given) carry of payload in that time, at their rates in the timeline and less
    what they lose.
    """

    of_traffic = WITH_SESSIONS

    judge: Literal["goodput"]
    min: float = Field(gt=0, le=1)
    links: list[str] | None = Field(None, min_length=1)
    from_s: Seconds | None = None
    to_s: Seconds | None = None

    def unfit(self, section: Any) -> str | None:
        if self.from_s is not None and not hasattr(section, "ack_interval_ms"):
            return "has no such time: from and to are of NCP's acknowledgements; leave them out"
        return None

    def in_words(self) -> str:
        """The check in words."""
        when = "" if self.from_s is None else f" from {self.from_s:g} s to {self.to_s:g} s"
        which = "the links" if self.links is None else f"link {', '.join(self.links)}"
        return f"Goodput{when} is at least {self.min:.0%} of what {which} can carry."

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """Receiver's result, or the sender's counters of acknowledged packets, over the bound."""
        known = {connection["link"] for connection in session["connections"]}
        if others := set(self.links or ()) - known:
            raise CannotJudge.of(unknown("goodput.no-link", "link of a connection", others.pop(), sorted(known)))
        expected = f"at least {self.min:g}"
        if self.from_s is None or self.to_s is None:
            measured_bps, when = goodput_bps(evidence, session), "over the transfer"
            span_s = 0.0, received_s(evidence, session)
        else:
            acknowledged = explain.acknowledged_pps(evidence, session, self.from_s, self.to_s)
            end_s = evidence.end_s(session["name"])
            if not acknowledged or end_s is None or end_s < self.to_s:
                said = Message("goodput.not-so-long", f"Not decided: the transfer was not on until {self.to_s:g} s.")
                return self.conclude(Status.INSUFFICIENT_DATA, said, expected=expected)
            measured_bps = sum(acknowledged.values()) * session["mtu_bytes"] * 8
            when = f"from {self.from_s:g} s to {self.to_s:g} s"
            span_s = self.from_s, self.to_s
        bound_bps = planned.bound_bps(evidence.plan, session, self.links, *span_s)
        if not bound_bps:
            raise CannotJudge("goodput.carries-nothing", f"the links carry nothing {when}")
        share = measured_bps / bound_bps
        said = Message(
            "goodput.share",
            f"{measured_bps / 8 / 2**20:.3f} MiB/s {when} is {share:.1%} of {bound_bps / 8 / 2**20:.3f} MiB/s; "
            f"expected at least {self.min:.0%}.",
        )
        figures: dict[str, Any] = {"session": session["name"], "goodput_bps": measured_bps, "bound_bps": bound_bps}
        return self.conclude(share >= self.min, said, measured=share, expected=expected, **figures)


def goodput_bps(evidence: Evidence, session: Session) -> float:
    """Payload bits per second from the session's start to the last byte at the receiver."""
    result = evidence.needed_result(session["name"], "receiver")
    if not result.get("goodput_bps"):
        raise CannotJudge("receiver.not-finished", f"the receiver of session {session['name']} did not finish")
    return float(result["goodput_bps"])


def received_s(evidence: Evidence, session: Session) -> float:
    """Seconds from the session's start to the last byte at the receiver."""
    result = evidence.needed_result(session["name"], "receiver")
    return float(result.get("duration_s") or evidence.end_s(session["name"]) or 0.0)


MOST = 1.1
"""Times the optimum, beyond which a goodput can't be: a run may lose fewer packets than its links do on average."""
LONGEST_S = 1e6
"""Time after which links that have not carried everything never will."""
IN_USE = 0.5
"""The part of its link's rate at which a connection is in use, over the last second."""


class Multipath(OfSession):
    """Goodput is at least ``min`` of the optimum: of a sender that knows all rates, losses and breaks beforehand, and
    keeps an even share of a link that others cross. More than the links carry alone fails as well.

    What it measures is among the run's figures, for tables: ``of_optimum``; ``reorder_bytes``, the most that waited at
    the receiver for earlier data; ``rtt_of_base``, the largest of the connections' mean RTTs over that without a queue.

    With ``returned`` and ``at``: ``reused_s``, the time from when that connection's path came back until it delivers
    half of its link's rate over a second (to the transfer's end if it never does). With ``rival``: ``rival_share``, the
    goodput of that session over an even share of its link, between ``from`` and ``to``.
    """

    of_traffic = WITH_SESSIONS
    tells_figures = True
    together = (("returned", "at"), ("rival", "from", "to"))

    judge: Literal["multipath"]
    min: float = Field(0.0, ge=0, le=1)
    returned: ConnectionIndex | None = None
    at_s: Seconds | None = None
    rival: str | None = None
    from_s: Seconds | None = None
    to_s: Seconds | None = None

    def in_words(self) -> str:
        """The check in words."""
        return f"Goodput is at least {self.min:.0%} of what a sender that knows all would have."

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """The result from the receivers' bytes and the sender's RTTs."""
        plan = evidence.plan
        best_bps = _optimum_bps(plan, session)
        most_bps = MOST * _optimum_bps({**plan, "sessions": [session], "cross_traffic": []}, session)
        measured_bps = goodput_bps(evidence, session)
        part = measured_bps / best_bps
        figures: dict[str, float] = {"of_optimum": part}
        result = evidence.result_of(session["name"], "receiver") or {}
        if "max_reorder_bytes" in result:
            figures["reorder_bytes"] = float(result["max_reorder_bytes"])
        if (times := _rtt_of_base(evidence, session)) is not None:
            figures["rtt_of_base"] = times
        if self.returned is not None and self.at_s is not None:
            figures |= _reused_s(evidence, session, self.returned, self.at_s)
        if self.rival is not None and self.from_s is not None and self.to_s is not None:
            figures["rival_share"] = _rival_share(evidence, self.rival, self.from_s, self.to_s)
        said = Message(
            "multipath.of-optimum",
            f"{measured_bps / 8 / 2**20:.3f} MiB/s is {part:.1%} of the optimum, {best_bps / 8 / 2**20:.3f} MiB/s; "
            f"expected at least {self.min:.0%}.",
        )
        holds = part >= self.min and measured_bps <= most_bps
        if measured_bps > most_bps:
            said = said.followed_by(Message("multipath.beyond", "The links don't carry that much."))
        return self.conclude(holds, said, measured=part, expected=f"at least {self.min:g}", **figures)


def _optimum_bps(plan: Plan, session: Session) -> float:
    shares = planned.carried(plan, session, crossing(plan))
    return session["transfer_bytes"] * 8 / optimum_s(shares, session["transfer_bytes"])


def optimum_s(carried: Sequence[tuple[float, Sequence[Carried]]], transfer_bytes: float) -> float:
    """The least seconds in which so many bytes of payload can arrive: every link busy from the start, and nothing on
    one of them that arrives after the last byte of the others."""
    ends = [*(at_s for at_s, _ in carried[1:]), LONGEST_S]
    changes = sorted(
        change
        for (from_s, links), to_s in zip(carried, ends, strict=True)
        for bps, delay_s in links
        for change in ((from_s + delay_s, bps), (to_s + delay_s, -bps))
    )
    times_s, by_bps = np.array(changes).T
    bits = np.concatenate(([0.0], np.cumsum(np.cumsum(by_bps)[:-1] * np.diff(times_s))))
    if bits[-1] < transfer_bytes * 8:
        raise ValueError("the links never carry it")
    last = bisect_left(bits, transfer_bytes * 8)
    return float(np.interp(transfer_bytes * 8, bits[last - 1 : last + 1], times_s[last - 1 : last + 1]))


def crossing(plan: Plan) -> Counter[str]:
    """Counts the sessions and other flows that share each link."""
    found: Counter[str] = Counter()
    for other in plan["sessions"]:
        found.update({name for connection in other["connections"] for name in planned.path_of(connection)})
    for flow in plan.get("cross_traffic", []):
        found.update(set(flow["path"]))
    return found


def _rtt_of_base(evidence: Evidence, session: Session) -> float | None:
    """None where a sender doesn't tell its RTTs. A connection without an answer has none."""
    times = []
    for connection, samples in evidence.samples("rtt_ms", session["name"]).items():
        known = samples.values[samples.values > 0]
        if known.size and "ack_interval_ms" in session:
            span_s = float(samples.t_s[0]), float(samples.t_s[-1])
            times.append(float(known.mean()) / planned.base_rtt_ms(evidence.plan, session, connection, *span_s))
    return max(times, default=None)


def _reused_s(evidence: Evidence, session: Session, connection: str, at_s: float) -> dict[str, float]:
    """Empty where nobody tells what each connection delivers, as of the kernel's MPTCP."""
    found = evidence.samples("delivered_pps", session["name"])
    if not found:
        return {}
    name = planned.link_of(evidence.plan, session, connection)["name"]
    rates = [(from_s, rate_pps(now[name].link)) for from_s, now in planned.stages(evidence.plan, session)]
    after = found[connection].between(at_s, float("inf")) if connection in found else None
    if after is None or not after.t_s.size:
        raise CannotJudge("multipath.over-before", f"the transfer was over before {at_s:g} s, when the path came back")
    used = after.t_s[after.values >= IN_USE * planned.value_at(rates, after.t_s)]
    return {"reused_s": float(used[0] if used.size else after.t_s[-1]) - at_s}


def _rival_share(evidence: Evidence, rival: str, from_s: float, to_s: float) -> float:
    rates = session_rates_bps(evidence, from_s, to_s)
    session = planned.session_of(evidence.plan, rival)
    from_s, to_s = from_s - session["start_s"], to_s - session["start_s"]
    even = planned.mean(planned.carried_bps(evidence.plan, session, crossing(evidence.plan)), from_s, to_s)
    return rates[session["name"]] / even
