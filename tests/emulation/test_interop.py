"""The agent and npm's implementations of NCP for real: a small matrix, and what stops it."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import paths
from testbed.traffic.interop.judge import ENDS
from tests.emulation.conftest import ON_ANY_MACHINE, Started, result_folder

pytestmark = [pytest.mark.packets, pytest.mark.nightly]

Call = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., Started]


def trace(folder: Path, **other: Path) -> str:
    """What ``ncp-trace`` says of a cell's captures, with other files where given."""
    files = {
        f"{end}_{kind}": folder / name
        for end in ENDS
        for kind, name in (("plan", f"{end}-plan.json"), ("capture", f"{end}.pcap"))
    } | other
    session = json.loads((folder / "sender-plan.json").read_text())["sessions"][0]["name"]
    command = [str(paths.BINARIES / "ncp-trace"), "--session", session]
    for name, file in files.items():
        command += [f"--{name.replace('_', '-')}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_both_peers_both_ways_with_loss(run_sh: Call, tmp_path: Path) -> None:
    done = run_sh("interop", "--quick", "--connections", "2", "--loss", "1%", *ON_ANY_MACHINE)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = result_folder(tmp_path, "interop")
    assert done.stdout.splitlines()[-1] == f"PASS interop {folder.name}"
    document = json.loads((folder / "interop.json").read_text())
    met = {(cell["sender"], cell["receiver"]) for cell in document["cells"]}
    assert met == {("ours", "1.0.9"), ("1.0.9", "ours"), ("ours", "1.1.2"), ("1.1.2", "ours")}
    for cell in document["cells"]:
        sent, arrived = (cell["packets"][f"{end}_end"] for end in ENDS)
        sums = {cell["ends"][end]["sha256"] for end in ENDS} | {sent["payload_sha256"], arrived["payload_sha256"]}
        assert len(sums) == 1
        # Both ends really came to what the receiver offered, and the transfer did not fit its window.
        assert (sent["window_bytes"], sent["mtu_bytes"]) == (768 << 10, 1000)
        assert sent["window_bytes"] < sent["payload_bytes"] == cell["transfer_bytes"] == 1 << 20
        assert all(connection["from_sender"]["data_packets"] for connection in arrived["connections"])
    # The links did lose: TCP had to send again, in both directions over the whole matrix.
    for direction in ("from_sender", "from_receiver"):
        assert sum(
            connection[direction]["tcp_resent_bytes"]
            for cell in document["cells"]
            for end in ENDS
            for connection in cell["packets"][f"{end}_end"]["connections"]
        )

    # The same captures, held against what was not asked, are no pass.
    one = folder / document["cells"][0]["folder"]
    assert "handshake of the receiver: clients" in trace(one, receiver_plan=one / "sender-plan.json")
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((one / "receiver.pcap").read_bytes()[: 1 << 18])
    assert "sequences were never acknowledged" in trace(one, receiver_capture=cut) or "EOF" in trace(
        one, receiver_capture=cut
    )


def test_ctrl_c_keeps_the_cells_that_were_run(start: Start, tmp_path: Path) -> None:
    run = start("interop", "--connections", "1", "--loss", "0%", *ON_ANY_MACHINE)
    deadline = time.monotonic() + 120
    while len(list((tmp_path / "results").glob("interop/latest/cells/*/*/receiver.pcap"))) < 2:
        assert run.process.poll() is None, run.end()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    run.signal(signal.SIGINT)
    code, out, err = run.end()
    assert code == 130, err
    folder = result_folder(tmp_path, "interop")
    assert out.splitlines()[-1] == f"INTERRUPTED interop {folder.name}"
    document = json.loads((folder / "interop.json").read_text())
    assert document["verdict"] == "fail"
    assert "stopped by SIGINT" in document["broken"]
    assert [cell["status"] for cell in document["cells"]] == ["pass"]
