"""A small table on real parts: NCP and the kernel's MPTCP over the same links."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.traffic.mptcp import Mptcp
from tests.emulation.conftest import ON_ANY_MACHINE, result_folder

pytestmark = [pytest.mark.packets, pytest.mark.nightly]

TABLE = """\
name: small-table
title: One link or two
repeat: 1
cells:
  links:
    - {name: one, rate: 1024pps, delay: 5ms}
  ncp: {policy: nkp24, transfer: 1MiB}
  checks:
    - {name: payload, judge: payload_intact}
rows:
  - {name: one}
  - name: two
    set:
      links:
        - {name: one, rate: 1024pps, delay: 5ms}
        - {name: two, rate: 1024pps, delay: 5ms}
columns:
  - {name: nkp24}
  - {name: mptcp, carrier: mptcp, congestion_control: cubic}
checks:
  - {name: at most what the links carry, judge: bound, columns: [nkp24], min: 0.3, max: 1.001}
"""


def test_a_table_is_run_resumed_and_judged(
    run_sh: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    path = tmp_path / "small-table.yaml"
    path.write_text(TABLE)
    started = run_sh(str(path), "--runtime", "process", *ON_ANY_MACHINE)
    folder = result_folder(tmp_path, "small-table")
    assert started.returncode == 0, started.stdout + started.stderr
    assert started.stdout.splitlines()[-1] == f"PASS small-table {folder.name}"
    with (folder / "table.csv").open() as file:
        rows = {(row["row"], row["column"]): row for row in csv.DictReader(file)}
    expected = "pass" if Mptcp.why_unsupported() is None else "unsupported"
    assert {row["state"] for (_, column), row in rows.items() if column == "nkp24"} == {"pass"}
    assert {row["state"] for (_, column), row in rows.items() if column == "mptcp"} == {expected}
    assert float(rows["two", "nkp24"]["median"]) > float(rows["one", "nkp24"]["median"])
    for run in folder.glob("cells/*/nkp24/1/2*"):
        assert json.loads((run / "verdict.json").read_text())["verdict"] == "pass"
    for run in folder.glob("cells/two/mptcp/1/2*"):
        (check, _) = json.loads((run / "verdict.json").read_text())["checks"]
        assert min(check["figures"]["acked_bytes"].values()) > 100_000
        facts = json.loads((run / "provenance.json").read_text())["mptcp"]
        assert [subflow["congestion_control"] for subflow in facts["subflows"]] == ["cubic", "cubic"]
        assert facts["counters"]["MPJoinSynAckRx"] >= 1
    assert "</svg>" in (folder / "report.html").read_text()

    # One cell is lost: only that one is run again.
    lost = next(folder.glob("cells/one/nkp24/1/2*"))
    (lost / "verdict.json").unlink()
    resumed = run_sh(str(path), "--runtime", "process", "--resume", folder.name, *ON_ANY_MACHINE)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    told = [line for line in resumed.stderr.splitlines() if "/4]" in line]
    kept = [line for line in told if "(kept)" in line]
    assert len(told) == 4
    assert len(kept) == (3 if expected == "pass" else 1)
    other = run_sh(str(path), "--runtime", "docker", "--resume", folder.name, *ON_ANY_MACHINE)
    assert other.returncode == 2
    assert "another value of runtime" in other.stderr
