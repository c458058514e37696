"""Real packets by a cluster: a host whose links are off gets no runs, and the table says so."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.services.influx import server
from testbed.study.hosts import fitness
from tests.cluster.conftest import Place
from tests.cluster.loopback import UNSOUND, Loopback
from tests.ports import held_port

pytestmark = [
    pytest.mark.packets,
    pytest.mark.nightly,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for network namespaces"),
]
TABLE = ["speed-table", "--rows", "7", "--columns", "nkp24", "--repeat", "2", "--quick", "--runtime", "process"]


@pytest.fixture
def database(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One of the test's own, beside the machine's."""
    with held_port() as port:
        monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", str(port))
        yield
        server.stop()


@pytest.mark.usefixtures("database")
def test_a_host_whose_links_are_off_is_left_out_by_name(place: Place, cluster_of: Callable[..., Loopback]) -> None:
    cluster = cluster_of()
    cluster.start_worker("off", program=[str(UNSOUND / "off.py")], real_packets=True)
    cluster.start_worker("sound", real_packets=True)
    cluster.write_file()
    process = place.start("there", "table", *TABLE, "--cluster")
    said, _ = process.communicate(timeout=900)
    assert "off: links measured: RTT off by" in said
    assert "off is left out: mean error of an RTT of 50 ms" in said
    table = place.path / "there" / "speed-table" / "latest"
    if "sound is left out" in said:  # on a machine that does much else its links are off, too
        assert process.returncode == 4
        return
    measured = {one.host: bool(one.off) for one in fitness.measurements(table).hosts}
    assert measured == {"off": True, "sound": False}
    made = json.loads((table / "table.json").read_text())["outcomes"]
    assert {run["host"] for run in made} == {"sound"}
    page = (table / "report.html").read_text()
    assert ">off</th>" in page
    assert "left out" in page

    verify = place.start("there", "verify", str(table))
    verify.communicate(timeout=300)
    assert verify.returncode == process.returncode
    _change(table / fitness.HOSTS_FILE)
    verify = place.start("there", "verify", str(table))
    said, _ = verify.communicate(timeout=300)
    assert verify.returncode == 1, said
    assert "hosts.json.hosts[0].sha256" in said


def _change(file: Path) -> None:
    """Another host is said to have been measured so."""
    document = json.loads(file.read_text())
    for one in document["hosts"]:
        one["host"] = "sound"
    file.write_text(json.dumps(document))
