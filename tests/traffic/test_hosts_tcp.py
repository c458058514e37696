"""How TCP is set where agents use it: by the plan alone."""

from typing import Any

from testbed import traffic
from testbed.runtime.network import HostsTcp


def hosts_tcp(plan: Any) -> HostsTcp:
    return traffic.of(plan).hosts_tcp(plan)


def plan(**session: Any) -> Any:
    return {"traffic": "ncp", "sessions": [{"name": "s1", "send_window_bytes": 4 << 20, **session}]}


def test_ncp_over_udp_needs_nothing() -> None:
    assert hosts_tcp(plan(transport="udp")) == HostsTcp()


def test_ncp_over_tcp_has_the_scenarios_congestion_control_and_room_for_its_window() -> None:
    found = hosts_tcp(plan(transport="tcp", congestion_control="cubic"))
    assert found.congestion_control == "cubic"
    for name in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
        least, default, most = map(int, found.sysctls[name].split())
        assert least < 4 << 20 < default == most


def test_mptcp_in_the_place_of_ncp_chooses_its_own() -> None:
    assert hosts_tcp(plan(transport="tcp", congestion_control=None, carrier="mptcp")) == HostsTcp()


def test_faces_over_tcp_have_the_sections() -> None:
    ndn = {"traffic": "ndn", "sessions": [{"name": "s1", "transport": "tcp"}]}
    over_tcp, over_udp = (
        {**ndn, "ndn": {"transport": transport, "congestion_control": "reno"}} for transport in ("tcp", "udp")
    )
    assert hosts_tcp(over_tcp) == HostsTcp("reno")
    assert hosts_tcp(over_udp) == HostsTcp()
