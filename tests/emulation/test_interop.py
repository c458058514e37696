"""The agent and npm's implementations of NCP on real packets: a row of the table, and what stops it."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from tests.emulation.conftest import ON_ANY_MACHINE, Started, result_folder

pytestmark = [pytest.mark.packets, pytest.mark.nightly]

Call = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., Started]
ENDS = ("sender", "receiver")
WITH_NPM = "ours-to-npm-1-0-9,npm-1-0-9-to-ours,ours-to-npm-1-1-2,npm-1-1-2-to-ours"
SMALL = ("--runtime", "process", "--set", "ncp.transfer=1MiB", *ON_ANY_MACHINE)


def trace(run: Path, **other: Path) -> str:
    """What ``ncp-trace`` says of a run's captures, with other files where given."""
    files = {f"{end}_capture": run / f"capture-s1-{end}.pcap" for end in ENDS} | {"plan": run / "plan.json"} | other
    command = [str(paths.BINARIES / "ncp-trace"), "--session", "s1"]
    for name, file in files.items():
        command += [f"--{name.replace('_', '-')}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_both_peers_both_ways_with_loss(run_sh: Call, tmp_path: Path) -> None:
    done = run_sh("interop", "--rows", "2-lossy", "--columns", WITH_NPM, *SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = result_folder(tmp_path, "interop")
    assert done.stdout.splitlines()[-1].startswith(f"PASS interop {folder.name}")
    runs = [file.parent for file in folder.glob("cells/2-lossy/*/1/*/verdict.json")]
    assert {run.parent.parent.name for run in runs} == set(WITH_NPM.split(","))
    resent_bytes = dict.fromkeys(("from_sender", "from_receiver"), 0)
    for run in runs:
        ends = {end: json.loads((run / "agents" / f"s1-{end}.json").read_text()) for end in ENDS}
        sent, arrived = (ends[end]["captured"] for end in ENDS)
        assert len({end["sha256"] for end in ends.values()} | {sent["payload_sha256"], arrived["payload_sha256"]}) == 1
        # Both ends really came to what the receiver offered, and the transfer did not fit its window.
        offered = [[sent[end][key] for key in ("window_bytes", "mtu_bytes")] for end in ENDS]
        assert offered == [[1 << 20, 1024], [768 << 10, 1000]]
        assert (sent["window_bytes"], sent["mtu_bytes"]) == (768 << 10, 1000)
        assert sent["window_bytes"] < sent["payload_bytes"] == 1 << 20
        assert all(connection["from_sender"]["data_packets"] for connection in arrived["connections"])
        for connection in (*sent["connections"], *arrived["connections"]):
            for direction in resent_bytes:
                resent_bytes[direction] += connection[direction]["tcp_resent_bytes"]
    # The links did lose: TCP had to send again, in both directions over all runs.
    assert all(resent_bytes.values()), resent_bytes

    # The same captures, held against what was not asked, are no pass.
    run = runs[0]
    plan: Any = json.loads((run / "plan.json").read_text())
    plan["sessions"][0]["offers"]["receiver"] = plan["sessions"][0]["offers"].pop("sender")
    (other := tmp_path / "plan.json").write_text(json.dumps(plan))
    said = trace(run, plan=other)
    assert all(f"handshake of the {end}: clients" in said for end in ENDS), said
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((run / "capture-s1-receiver.pcap").read_bytes()[: 1 << 18])
    said = trace(run, receiver_capture=cut)
    assert "sequences were never acknowledged" in said or "EOF" in said


def test_ctrl_c_keeps_the_cells_that_were_run(start: Start, tmp_path: Path) -> None:
    run = start("interop", "--rows", "1-clean", *SMALL)
    deadline = time.monotonic() + 240
    while not list((tmp_path / "results").glob("interop/latest/runs.jsonl")):
        assert run.process.poll() is None, run.end()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    run.signal(signal.SIGINT)
    code, out, err = run.end()
    assert code == 130, err
    folder = result_folder(tmp_path, "interop")
    assert out.splitlines()[-1] == "INTERRUPTED interop"
    ledger = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    assert [line["status"] for line in ledger] == ["pass"]
