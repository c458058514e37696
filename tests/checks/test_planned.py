"""What a plan asked for, as judgements read it."""

from typing import Any

import pytest

from testbed.judge.checks import planned


@pytest.mark.parametrize(("mtu_bytes", "packets"), [(1024, 4096.0), (1000, 4194.304)])
def test_the_sessions_window_is_not_rounded(mtu_bytes: int, packets: float) -> None:
    """As the agents divide (ncp-agent/session/handshake_test.go)."""
    session: Any = {"send_window_bytes": 4 << 20, "mtu_bytes": mtu_bytes, "connections": [{"index": 1}, {"index": 2}]}
    assert planned.session_window_packets(session) == packets
    assert planned.initial_windows(session) == {"1": packets / 2, "2": packets / 2}
    assert planned.initial_windows(session | {"initial_windows": [7, 1]}) == {"1": 7, "2": 1}
