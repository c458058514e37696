"""How the kernel's TCP is set where agents carry their packets over it: as the plan says, not the machine."""

from __future__ import annotations

from testbed.plan.resolve import Plan
from testbed.tcp.host_settings import DEFAULTS


def congestion_control(plan: Plan) -> str | None:
    """That of TCP over the links; None where no agent uses TCP.

    It is chosen by routes and not by the namespaces' own default, which can only be what the machine leaves to all
    programs to choose.
    """
    if plan["traffic"] == "ndn":
        section = plan["ndn"]
        return str(section["congestion_control"]) if section["transport"] == "tcp" else None
    return next(iter(asked_of_sessions(plan).values()), None)


def asked_of_sessions(plan: Plan) -> dict[str, str]:
    """The congestion control of each NCP session over TCP, by the session's name; all have the same."""
    return {
        session["name"]: session["congestion_control"]
        for session in plan["sessions"]
        if plan["traffic"] == "ncp" and session["transport"] == "tcp" and not session.get("carrier")
    }


def sysctls(plan: Plan) -> dict[str, str]:
    """Of every host of NCP over TCP; none otherwise.

    A socket may hold the session's window in either direction from the start, and as much for what the kernel counts
    beside the data. A receive buffer that grows as the kernel sees fit is full after 0.8 s or more than 1 s of a paused
    reader, by the kernel's version, and holds up the sender or not; a send buffer may take less than the link's queue,
    by which the plan bounds it.
    """
    windows_bytes = [
        session["send_window_bytes"] for session in plan["sessions"] if session["name"] in asked_of_sessions(plan)
    ]
    if not windows_bytes:
        return {}
    buffer_bytes = 2 * max(windows_bytes)
    return DEFAULTS | {f"net.ipv4.{name}": f"4096 {buffer_bytes} {buffer_bytes}" for name in ("tcp_rmem", "tcp_wmem")}
