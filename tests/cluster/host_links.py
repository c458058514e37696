"""What a host might have measured of its links."""

from __future__ import annotations

from testbed.lab.host_links import ECHOES, HostLinks


def host_links(*, rtt_ms: float = 50.05, echoes: int = ECHOES, rate_error: float = 0.0001) -> HostLinks:
    """A host's whose echoes all took so long, by default a good one's."""
    return HostLinks(
        measured_at="2026-11-23T18:00:00Z",
        middle="relay",
        busy=0.02,
        rtts_ms=[rtt_ms] * echoes,
        rate_errors=[rate_error],
    )
