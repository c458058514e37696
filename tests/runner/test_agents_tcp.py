"""How TCP is set where agents use it: by the plan alone."""

from typing import Any

from testbed.runner.agents_tcp import asked_of_sessions, congestion_control, sysctls


def plan(**session: Any) -> dict[str, Any]:
    return {"traffic": "ncp", "sessions": [{"name": "s1", "send_window_bytes": 4 << 20, **session}]}


def test_ncp_over_udp_needs_nothing() -> None:
    over_udp = plan(transport="udp")
    assert (congestion_control(over_udp), sysctls(over_udp), asked_of_sessions(over_udp)) == (None, {}, {})


def test_ncp_over_tcp_has_the_scenarios_congestion_control_and_room_for_its_window() -> None:
    over_tcp = plan(transport="tcp", congestion_control="cubic")
    assert (congestion_control(over_tcp), asked_of_sessions(over_tcp)) == ("cubic", {"s1": "cubic"})
    for name in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
        least, default, most = map(int, sysctls(over_tcp)[name].split())
        assert least < 4 << 20 < default == most


def test_mptcp_in_the_place_of_ncp_chooses_its_own() -> None:
    mptcp = plan(transport="tcp", congestion_control=None, carrier="mptcp")
    assert (congestion_control(mptcp), sysctls(mptcp), asked_of_sessions(mptcp)) == (None, {}, {})


def test_faces_over_tcp_have_the_sections() -> None:
    ndn = {"traffic": "ndn", "sessions": [{"name": "s1", "transport": "tcp"}]}
    assert congestion_control(ndn | {"ndn": {"transport": "tcp", "congestion_control": "reno"}}) == "reno"
    assert congestion_control(ndn | {"ndn": {"transport": "udp", "congestion_control": "reno"}}) is None
