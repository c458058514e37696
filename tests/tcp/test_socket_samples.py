"""What the collector's samples tell of a session's congestion control."""

from pathlib import Path

import pytest

from testbed.errors import RunFailed
from testbed.runtime.socket_samples import assert_sent_with, congestion_controls
from tests.raises import Said, raises


def spooled(folder: Path, *tags: str) -> Path:
    lines = "".join(f"tcp_info,{each} cwnd_packets=10i {number}\n" for number, each in enumerate(tags, start=1))
    (folder / "tcp_info.lp").write_text(lines)
    return folder


def test_only_the_sending_sockets_of_the_session_count(tmp_path: Path) -> None:
    spools = spooled(
        tmp_path,
        "congestion_control=cubic,flow=s1-1,role=sender,session=s1",
        "congestion_control=bbr,flow=s1-1,role=receiver,session=s1",
        "congestion_control=reno,flow=s2-1,role=sender,session=s2",
        "congestion_control=vegas,flow=iperf3-1,role=sender",
    )
    assert congestion_controls(spools, "s1") == {"cubic"}


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (set(), Said("tcp.congestion-control-not-seen", expected="cubic")),
        ({"bbr"}, Said("tcp.congestion-control-differs", seen="bbr", expected="cubic")),
        ({"cubic", "bbr"}, Said("tcp.congestion-control-differs", seen="bbr, cubic", expected="cubic")),
    ],
)
def test_another_congestion_control_fails_the_run(seen: set[str], says: Said) -> None:
    with raises(RunFailed, says):
        assert_sent_with("cubic", seen)
    assert_sent_with("cubic", {"cubic"})
