"""A table's MPTCP column over netem, in a guest, whose kernel has MPTCP over IPv4 only."""

import json
from pathlib import Path

import pytest

from testbed.cli.app import main
from testbed.machine.guest_kernel import Kernel

TABLE = """\
name: subflows
title: Two links
repeat: 1
cells:
  links:
    - {name: one, rate: 1024pps, delay: 5ms}
    - {name: two, rate: 1024pps, delay: 5ms}
  ncp: {policy: nkp24, transfer: 2MiB}
  checks: [{name: payload, judge: payload_intact}]
rows: [{name: both}]
columns: [{name: mptcp, carrier: mptcp, congestion_control: cubic}]
checks:
  - {name: at most what the links carry, judge: bound, columns: [mptcp], max: 1.001}
"""


def test_mptcp_carries_a_cell_over_both_links(
    exact_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exact_kernel.exact
    table = tmp_path / "subflows.yaml"
    table.write_text(TABLE)
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    monkeypatch.setattr("sys.argv", ["run.sh", str(table), "--engine", "vkernel"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code or 0) == 0
    (run,) = (tmp_path / "results" / "subflows" / "latest").glob("cells/both/mptcp/1/vk-*")
    (check, _) = json.loads((run / "verdict.json").read_text())["checks"]
    assert check["judge"] == "mptcp_carried"
    assert min(check["figures"]["acked_bytes"].values()) > 100_000
