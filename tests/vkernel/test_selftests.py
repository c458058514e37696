"""The kernel's own tests in the guest: what they report case by case, and that they are the same each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from testbed import paths
from testbed.engines.vkernel import selftests
from testbed.engines.vkernel.selftests import Case
from testbed.machine.guest_kernel import Kernel

OUTPUT = """\
connect(): Connection refused
01 balanced bwidth                                              max 7906       [ OK ]
02 balanced bwidth - reverse direction                          max 7906       [FAIL]

TAP version 13
1..3
ok 1 - simult_flows: balanced bwidth # time=7457ms
not ok 2 - simult_flows: balanced bwidth - reverse direction # time=30040ms
ok 3 - simult_flows: unbalanced bwidth # SKIP flaky
"""


def test_cases_have_their_times_and_limits() -> None:
    assert list(selftests.cases(OUTPUT)) == [
        Case("balanced bwidth", True, 7457, 7906),
        Case("balanced bwidth - reverse direction", False, 30040, 7906),
        Case("unbalanced bwidth", True, None, None),
    ]


def test_the_summary_says_how_often_each_passed(tmp_path: Path) -> None:
    found = {1: list(selftests.cases(OUTPUT)), 2: [Case("balanced bwidth", True, 7460, 7906)]}
    assert [line.split(maxsplit=1) for line in selftests.summary(found)] == [
        ["pass", "2 of 2  balanced bwidth: 7457 to 7460 ms, median 7458, limit 7906"],
        ["FAIL", "0 of 1  balanced bwidth - reverse direction: 30040 to 30040 ms, median 30040, limit 7906"],
        ["pass", "1 of 1  unbalanced bwidth: no time"],
    ]
    selftests.write_report(tmp_path, "simult_flows", found)
    assert (tmp_path / "cases.csv").read_text().splitlines()[1] == "1,balanced bwidth,True,7457,7906"
    assert "unbalanced" not in (tmp_path / "cases.svg").read_text()


@pytest.mark.nightly
def test_simult_flows_passes_and_is_the_same_twice(
    exact_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path))
    command = [sys.executable, "-m", "testbed", "selftest", "mptcp", "--repeat", "1", "--check"]
    done = subprocess.run(command, cwd=paths.CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1].startswith("PASS selftest mptcp simult_flows")
