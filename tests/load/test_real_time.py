"""Ten million packets through one session of two agents on real packets, as fast as this machine lets them."""

import pytest

from testbed.engines.mininet.engine import ENGINE
from testbed.lab import ncp
from testbed.lab.ends import Between
from testbed.machine.build import build_programs

pytestmark = pytest.mark.packets

PACKETS = 10**7
FEWER = 10**5


def carried(between: Between, packets: int) -> ncp.Transfer:
    """That many packets; the bytes that arrive are those that were sent, or it raises."""
    session = ncp.SESSIONS[ncp.FAST]
    found = ncp.transfer(between, build_programs(ENGINE.agent)[ENGINE.agent], session, packets * session.mtu_bytes)
    print(
        f"{packets} packets: {found.goodput_bps / 1e6:.0f} Mbit/s, {found.cpu_s_per_gb:.1f} s of CPU per GB,", end=" "
    )
    print(f"{found.resent_share:.2%} sent again, grown by {found.growth_bytes >> 20} MiB")
    return found


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_ten_million_packets_in_real_time() -> None:
    with ncp.joined() as between:
        few, many = carried(between, FEWER), carried(between, PACKETS)
    windows = 2 * ncp.SESSIONS[ncp.FAST].send_window_bytes
    assert many.growth_bytes <= few.growth_bytes + ncp.GROWTH_WINDOWS * windows
