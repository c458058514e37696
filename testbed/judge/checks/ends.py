"""Checks of what the ends of a session report: payload, packets, points, subflows and edges of the window."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from pydantic import Field

from testbed.judge.checks.evidence import CannotJudge, Evidence
from testbed.judge.checks.parameters import ANY_TRAFFIC, CheckParameters, OfSession
from testbed.judge.checks.result import CheckResult
from testbed.judge.status import Status
from testbed.message import Listed, Message, Messages
from testbed.plan.engines import engine_of
from testbed.plan.model import ROLES, Session


class PayloadIntact(OfSession):
    """Bytes and SHA-256 at both ends are the same, and the number of bytes is the scenario's."""

    of_traffic = ANY_TRAFFIC
    fact = True

    judge: Literal["payload_intact"]

    def in_words(self) -> str:
        """The check in words."""
        return "The receiver gets every byte that was requested, with the sender's SHA-256."

    def unfit(self, section: Any) -> str | None:
        if getattr(section, "kind", None) == "iperf3":
            return "has nothing to compare: iperf3 sends for a time and hashes nothing; use payload_captured"
        return None

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """Compares the two agents' results of the session."""
        sender, receiver = (_finished(evidence, session["name"], role) for role in ("sender", "receiver"))
        if "transfer_bytes" not in session and "payload_sha256" not in receiver:
            raise CannotJudge("payload.unknown-length", "the run sends for a time, so its number of bytes is not known")
        # Of what is sent for a time, it is known what any number of bytes has to be.
        wanted = int(session.get("transfer_bytes", sender["bytes"]))
        problems = Messages()
        if receiver["bytes"] != wanted:
            problems.add_message("payload.received", f"the receiver got {receiver['bytes']:,} of {wanted:,} bytes")
        if sender["bytes"] != wanted:
            problems.add_message("payload.sent", f"the sender sent {sender['bytes']:,} of {wanted:,} bytes")
        if sender["sha256"] != receiver["sha256"]:
            problems.add_message(
                "payload.sha256-differ",
                f"the SHA-256 differ: sent {sender['sha256']:.12}…, received {receiver['sha256']:.12}…",
            )
        elif sender["sha256"] != receiver.get("payload_sha256", sender["sha256"]):
            problems.add_message(
                "payload.sha256-wrong", f"both ends tell the SHA-256 {sender['sha256']:.12}…, which the payload has not"
            )
        said = Message(
            "payload.intact", f"{wanted:,} bytes arrived with the sender's SHA-256 ({sender['sha256']:.12}…)."
        )
        if problems:
            said = Message("payload.differs", f"Not intact: {Listed(problems)}.", problems=Listed(problems))
        ends, got = {"sent": sender, "received": receiver}, receiver["bytes"]
        each = {f"{verb}_{key}": end[key] for key in ("bytes", "sha256") for verb, end in ends.items()}
        figures = {"session": session["name"], **each}
        return self.conclude(not problems, said, measured=got, expected=wanted, tolerance=0.0, **figures)


class ProtocolKept(OfSession):
    """Both ends keep NCP's rules in every packet that was captured at either host (``ncp-trace``), and the payload in
    these packets is the one that the ends tell of."""

    fact = True

    judge: Literal["protocol_kept"]

    def in_words(self) -> str:
        """The check in words."""
        return (
            "Whole packets captured at both hosts break no rule of the protocol and carry the payload that both ends "
            "report, and neither end warns of anything."
        )

    def unfit(self, section: Any) -> str | None:
        if section.transport != "tcp":
            return "is about sessions over TCP, whose streams captures hold whole; set ncp.transport to tcp"
        return None

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """Compares each end's result with the facts of the packets at its host, and these with each other."""
        wanted, problems = session["transfer_bytes"], Messages()
        results = {role: evidence.needed_result(session["name"], role) for role in reversed(ROLES)}
        for role, result in results.items():
            if "captured" not in result:
                raise CannotJudge("protocol.nothing-captured", f"the {role}'s result has no captured packets")
            packets = result["captured"]
            for warning in result["warnings"]:
                problems.add_message("protocol.warning", f"the {role} warns: {warning}")
            for violation in packets["violations"]:
                problems.add_message("protocol.violation", f"at the {role}: {violation}")
            if (carried := packets["payload_bytes"]) != wanted:
                problems.add_message(
                    "protocol.payload-bytes", f"packets at the {role} carried {carried:,} of {wanted:,} bytes"
                )
            if (sha := packets["payload_sha256"]) != result["sha256"]:
                problems.add_message(
                    "protocol.payload-sha256",
                    f"the {role} tells the SHA-256 {result['sha256']:.12}…, packets there carried {sha:.12}…",
                )
        sent, arrived = (result["captured"] for result in results.values())
        if sent["payload_sha256"] != arrived["payload_sha256"]:
            problems.add_message(
                "protocol.payload-changed", "the payload that left the sender is not the one that reached the receiver"
            )
        said = Message(
            "protocol.kept",
            f"{sent['sequences']:,} packets of data kept the protocol, {sent['resent_packets']:,} were sent again.",
        )
        if problems:
            said = Message("protocol.broken", f"Not kept: {Listed(problems)}.", problems=Listed(problems))
        figures = {key: value for key, value in sent.items() if isinstance(value, (int, float))}
        return self.conclude(
            not problems, said, measured=len(problems), expected=0.0, session=session["name"], **figures
        )


def _finished(evidence: Evidence, session: str, role: str) -> Mapping[str, Any]:
    result = evidence.needed_result(session, role)
    if not isinstance(result.get("bytes"), int) or not result.get("sha256"):
        raise CannotJudge(
            "payload.not-finished",
            f"the {role} of session {session} did not finish: {result.get('error') or 'it has no bytes and SHA-256'}",
        )
    return result


class PayloadCaptured(OfSession):
    """The sequence numbers captured at the receiver reach as far as iperf3 counted there, and at most a window further:
    what had arrived when iperf3 stopped reading. The sender counted at least as much as the receiver."""

    of_traffic = ("tcp",)
    fact = True

    judge: Literal["payload_captured"]

    def in_words(self) -> str:
        """The check in words."""
        return (
            "All bytes that iperf3 counts at the receiver are in packets captured there, with at most a window more "
            "that it had not read, and the sender counts no fewer."
        )

    def unfit(self, section: Any) -> str | None:
        if section.kind != "iperf3":
            return f"is about iperf3, not {section.kind}; that has payload_intact"
        if section.capture not in ("receiver", "both"):
            return "needs the receiver's packets; use tcp.capture: receiver, or leave capture out"
        return None

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """The result from both ends' results; the receiver's has the capture's figures."""
        sender, receiver = (evidence.needed_result(session["name"], role) for role in ("sender", "receiver"))
        if "captured" not in receiver:
            raise CannotJudge("captured.none", "the receiver's result has no captured packets")
        counted, sent = int(receiver["bytes"]), int(sender["bytes"])
        captured = int(receiver["captured"]["payload_bytes"])
        window = int(receiver["captured"]["largest_window_bytes"])
        problems = Messages()
        if not counted:
            problems.add_message("captured.nothing-counted", "iperf3 got nothing")
        if sent < counted:
            problems.add_message("captured.sender-counted-fewer", f"its sender counted {counted - sent:,} fewer")
        if captured < counted:
            problems.add_message("captured.in-no-packet", f"{counted - captured:,} of them were in no packet")
        if captured > counted + window:
            problems.add_message(
                "captured.beyond-the-window",
                f"{captured - counted:,} more were captured, and the receiver never offered more than {window:,}",
            )
        figures = {"counted_bytes": counted, "captured_bytes": captured, "largest_window_bytes": window}
        said = Message(
            "captured.as-counted",
            f"iperf3 counted {counted:,} bytes at the receiver, packets there had {captured:,}, at most a window of "
            f"{window:,} more.",
        )
        if problems:
            said = Message(
                "captured.not-as-counted",
                f"iperf3 counted {counted:,} bytes at the receiver, packets there had {captured:,}: "
                f"{Listed(problems)}.",
                problems=Listed(problems),
            )
        expected = f"{counted:,} to {counted + window:,}"
        return self.conclude(not problems, said, measured=captured, expected=expected, sent_bytes=sent, **figures)


class PointsStored(CheckParameters):
    """InfluxDB holds as many of the run's points as ``telemetry.lp``."""

    of_traffic = ANY_TRAFFIC
    fact = True

    judge: Literal["points_stored"]

    def in_words(self) -> str:
        """The check in words."""
        return "InfluxDB holds as many of the run's points as the result folder's telemetry.lp."

    def result(self, evidence: Evidence) -> CheckResult:
        """Compares the file's points, counted now, with the database's, counted when the run ended.

        Judging again from the folder alone can't ask the database, so it takes the count that was recorded.
        """
        if (in_file := evidence.file_points) is None:
            raise CannotJudge("points.no-file", "the run's telemetry.lp was not given, so its points can't be counted")
        if (in_database := evidence.database_points) is None:
            if engine_of(evidence.plan).virtual_time:
                said = Message("points.not-asked", "Skipped: no InfluxDB was up, and a run in virtual time needs none.")
                return self.conclude(Status.SKIPPED, said)
            raise CannotJudge(
                "points.not-counted", "no count of the database's points was recorded; the run had no database"
            )
        counts = f"{in_file:,} points in telemetry.lp, {in_database:,} in InfluxDB when the run ended"
        holds = in_file == in_database
        said = Message("points.stored", f"{counts}.")
        if not holds:
            said = Message("points.differ", f"{counts}: they differ by {abs(in_file - in_database):,}.")
        figures = {"file_points": in_file, "database_points": in_database}
        return self.conclude(holds, said, measured=in_database, expected=in_file, tolerance=0.0, **figures)


class MptcpCarried(OfSession):
    """Each link's subflow had at least ``min_bytes`` acknowledged, so that it took part, and not only joined."""

    fact = True

    judge: Literal["mptcp_carried"]
    min_bytes: int = Field(10_000, ge=1)

    def in_words(self) -> str:
        """The check in words."""
        return f"MPTCP's subflow over each link had at least {self.min_bytes:,} bytes acknowledged."

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """The result from the subflows' counters at the sender."""
        sender = evidence.needed_result(session["name"], "sender")
        acked = {c["link"]: 0 for c in session["connections"]}  # a link that the sender says nothing of carried nothing
        acked |= {c["link"]: int(c["acked_bytes"]) for c in sender["connections"]}
        idle = [link for link, count in acked.items() if count < self.min_bytes]
        each = ", ".join(f"{link} {count:,}" for link, count in acked.items())
        said = Message("mptcp.carried", f"Bytes acknowledged at the last sample, by link: {each}.")
        if idle:
            said = Message(
                "mptcp.idle",
                f"Nothing to speak of over {', '.join(idle)}. Bytes acknowledged at the last sample, by link: {each}.",
            )
        return self.conclude(
            not idle, said, measured=len(acked) - len(idle), expected=len(session["connections"]), acked_bytes=acked
        )


class WindowEdges(OfSession):
    """The sender had to wait at ``count`` right edges of the advertised window, and each was ``min_rise`` to
    ``max_rise`` times as far as the one before."""

    of_traffic = ("tcp",)

    judge: Literal["window_edges"]
    count: int = Field(ge=0)
    min_rise: float = Field(1.0, ge=1)
    max_rise: float = Field(100.0, ge=1)

    def in_words(self) -> str:
        """The check in words."""
        if not self.count:
            return "The receiver's window never makes the sender wait."
        rises = f", each {self.min_rise:g} to {self.max_rise:g} times the one before" if self.count > 1 else ""
        return f"The sender waits at {self.count} right edges of the receiver's window{rises}."

    def unfit(self, section: Any) -> str | None:
        return None if section.kind == "download" else f"is about a download, not {section.kind}"

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """The result from the sender's capture."""
        sender = evidence.needed_result(session["name"], "sender")
        if "edges_met_bytes" not in sender:
            raise CannotJudge("edges.none", "the sender's result has no edges; only a download's has")
        met: Sequence[int] = sender["edges_met_bytes"]
        rises = [after / before for before, after in pairwise(met)]
        fine = len(met) == self.count and all(self.min_rise <= r <= self.max_rise for r in rises)
        where = f" at {', '.join(f'{edge:,}' for edge in met)} bytes" if met else ""
        rose = f"; they rose {', '.join(f'{rise:.2f}' for rise in rises)} times" if rises else ""
        expected = f"{self.count}"
        if self.count > 1:
            expected += f", rising {self.min_rise:g} to {self.max_rise:g} times"
        count = len(met)
        said = Message("edges.met", f"The sender waited at {count} edges{where}{rose}.")
        return self.conclude(fine, said, measured=count, expected=expected, edges_met_bytes=met, rises=rises)
