"""A whole run over netem, in the guest: hosts, links, calibration, agents, InfluxDB, verdict."""

import json
from pathlib import Path
from typing import Any

import pytest

from testbed import build, paths
from tests.kernel.guest import Ended, run_in_guest

pytestmark = [pytest.mark.slow, pytest.mark.emulation, pytest.mark.usefixtures("guest_available")]

UNTRUSTED = 3
STATE_MEMORY = "5G"
"""The guest's files are in its memory, of which half may be files, and a run wants 2 GiB free for the database.
Memory that is not used is not taken."""


def startup(shared: Path) -> Ended:
    return run_in_guest(
        shared,
        "env", "--chdir", str(paths.CHECKOUT), "NCP_TESTBED_STATE=/tmp/state", "NCP_TESTBED_RUN=/run/ncp-testbed",
        f"NCP_TESTBED_RESULTS={shared / 'results'}",
        "./run.sh", "startup", "--quick", "--link", "netem", "--runtime", "process", "--set", "ncp.transfer=8MiB",
        writable=True, memory=STATE_MEMORY, limit_s=140,
    )  # fmt: skip


def test_a_run_over_netem(tmp_path: Path) -> None:
    build.build_programs()  # here it is quicker than there
    for attempt in ("first", "second"):
        shared = tmp_path / attempt
        shared.mkdir()
        ended = startup(shared)
        if ended.code != UNTRUSTED:  # this machine was busy with something else just then
            break
    folder = shared / "results" / "startup" / "latest"
    assert (folder / "verdict.json").exists(), ended.stdout + ended.stderr
    verdict: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    provenance: dict[str, Any] = json.loads((folder / "provenance.json").read_text())

    assert provenance["run"]["middle"] == "netem"
    assert provenance["kernel"]["netem"] is True
    assert {q["dev"] for q in provenance["qdiscs_after"] if q["kind"] == "netem"} == {
        "l1a",
        "l1b",
        "l2a",
        "l2b",
    }
    for reading in provenance["calibration"]:
        assert reading["delay_ms"] == pytest.approx(50, abs=1), reading
        assert reading["rate_bps"] == pytest.approx(reading["rate_bps_asked"], rel=0.02), reading
    status = {check["name"]: check["status"] for check in verdict["checks"]}
    for name in ("delivered ratio", "payload", "database"):
        assert status[name] == "pass", verdict
