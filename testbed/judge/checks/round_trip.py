"""``round_trip``: how much of a session's round trips is queue?"""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field

from testbed.judge.checks import planned
from testbed.judge.checks.coverage import cover
from testbed.judge.checks.evidence import Evidence
from testbed.judge.checks.parameters import CheckParameters, Seconds
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.status import Status
from testbed.message import Message
from testbed.plan.model import Plan, Session

NO_SAMPLES = Message("samples.a-connection-has-none", "a connection has no samples there")


class RoundTrip(CheckParameters):
    """Each connection's mean RTT is at most ``max`` times what it is without a queue.

    From ``from`` to ``to``, in seconds since the session's start. Without a queue it is both ways' delays of all links
    on the connection's path, and half of the receiver's ACK interval: a packet waits between nothing and all of it.
    """

    judge: Literal["round_trip"]
    session: str | None = None
    max: float = Field(gt=0)
    from_s: Seconds = Field(validation_alias=AliasChoices("from", "from_s"))
    to_s: Seconds = Field(validation_alias=AliasChoices("to", "to_s"))

    def in_words(self) -> str:
        """The check in words."""
        return (
            f"The RTT of every connection is at most {self.max:g} times that without a queue "
            f"(means from {self.from_s:g} s to {self.to_s:g} s)."
        )


def round_trip(parameters: RoundTrip, evidence: Evidence) -> CheckResult:
    """The largest of the connections' quotients."""
    session = planned.session_of(evidence.plan, parameters.session)
    samples = evidence.samples_of("rtt_ms", session["name"], planned.connections(session))
    coverage = cover(evidence, samples, parameters.from_s, parameters.to_s, parameters.to_s - parameters.from_s)
    times: dict[str, float] = {}
    each_rtt = []
    for connection, part in samples.items():
        judged = part.between(coverage.from_s, coverage.to_s)
        if not judged.values.size:
            continue
        rtt_ms, base_ms = float(judged.values.mean()), base_rtt_ms(evidence.plan, session, connection)
        times[connection] = rtt_ms / base_ms
        each_rtt.append(f"{connection} {rtt_ms:.0f} of {base_ms:.0f} ms")
    status: Status = Status.INSUFFICIENT_DATA
    said = (coverage.gap or NO_SAMPLES).because("Not decided")
    worst = max(times.values(), default=None)
    if worst is not None and len(times) == len(samples) and not coverage.gap:
        status = Status.PASS if worst <= parameters.max else Status.FAIL
        said = Message(
            "rtt.times",
            "The mean RTT is at most {times:.2f} times that without a queue; expected at most {max:g}. From {from_s:g} "
            "s to {to_s:g} s, by connection: {each}.",
            times=worst,
            max=parameters.max,
            from_s=coverage.from_s,
            to_s=coverage.to_s,
            each=", ".join(each_rtt),
        )
    return CheckResult.of(
        parameters,
        status,
        said,
        measured=None if worst is None else rounded(worst),
        expected=f"at most {parameters.max:g}",
        figures={"session": session["name"], "times": {c: rounded(value) for c, value in times.items()}},
    )


def base_rtt_ms(plan: Plan, session: Session, connection: str) -> float:
    """A connection's mean RTT without a queue, in ms."""
    delays_ms = {link["name"]: float(link["delay_ms"]) for link in plan["links"]}
    path = next(planned.path_of(c) for c in session["connections"] if str(c["index"]) == connection)
    return 2 * sum(delays_ms[link] for link in path) + float(session.get("ack_interval_ms", 0.0)) / 2
