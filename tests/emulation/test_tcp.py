"""The kernel's TCP on real parts: a table of iperf3 runs, and a congestion control that no kernel has."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.emulation.conftest import ON_ANY_MACHINE, result_folder

pytestmark = [pytest.mark.packets, pytest.mark.nightly]

TABLE = """\
name: small-window
title: A window over a round trip
repeat: 1
figures: [steady_mbps, observed_window_bytes, theory_observed_mbps, retransmissions]
cells:
  links:
    - {name: path, rate: 50mbit, delay: 50ms, queue: 2000 packets}
  tcp:
    kind: iperf3
    window: 32KiB
    window_scaling: false
    for: 3s
    routes: {sender: {initcwnd: 20}}
  checks:
    - {name: packets, judge: payload_captured}
    - {name: database, judge: points_stored}
rows:
  - {name: one}
columns:
  - {name: cubic}
  - {name: none, set: {tcp.congestion_control: nosuch}}
checks:
  - {name: at most 65535, judge: within, figure: observed_window_bytes, columns: [cubic], min: 10000, max: 65535}
"""


def test_a_window_is_measured_and_what_the_kernel_lacks_is_told(
    run_sh: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    of_the_machine = Path("/proc/sys/net/ipv4/tcp_window_scaling").read_text()
    path = tmp_path / "small-window.yaml"
    path.write_text(TABLE)
    done = run_sh(str(path), *ON_ANY_MACHINE)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = result_folder(tmp_path, "small-window")
    outcomes = {o["column"]: o for o in json.loads((folder / "table.json").read_text())["outcomes"]}
    assert (outcomes["cubic"]["verdict"], outcomes["none"]["verdict"]) == ("pass", "unsupported")
    assert "congctl nosuch" in outcomes["none"]["why"]

    run = next(folder.glob("cells/one/cubic/1/2*"))
    figures = json.loads((run / "verdict.json").read_text())["figures"]
    # A machine that is busy makes a transfer slower than its window allows, never faster.
    assert 0 < figures["steady_mbps"] < 1.5 * figures["theory_observed_mbps"]
    assert figures["theory_asked_mbps"] == pytest.approx(32768 * 8 / 0.1 / 1e6, abs=1e-5)
    facts = json.loads((run / "provenance.json").read_text())
    assert facts["congestion_control_of_the_socket"] == ["cubic"]
    assert facts["hosts"]["h1"]["sysctls"]["net.ipv4.tcp_window_scaling"] == "0"
    assert facts["hosts"]["h1"]["sysctls"]["net.ipv4.tcp_no_metrics_save"] == "1"
    assert "congctl cubic" in facts["hosts"]["h2"]["route"]
    assert "initcwnd 20" in facts["hosts"]["h1"]["route"]
    assert not any(facts["offloads_on"].values())
    assert Path("/proc/sys/net/ipv4/tcp_window_scaling").read_text() == of_the_machine
    telemetry = (run / "telemetry.lp").read_text()
    assert "\ntcp_info,congestion_control=cubic," in telemetry
    assert "\niperf3,congestion_control=cubic,flow=s1-1," in telemetry
    assert "Advertised window" in (run / "report.html").read_text()
    assert "</svg>" in (folder / "report.html").read_text()

    verified = run_sh("verify", str(run))
    assert verified.returncode == 0, verified.stdout + verified.stderr
    alone = tmp_path / "alone.yaml"
    cells = TABLE.split("cells:\n")[1].split("rows:")[0].replace("\n  ", "\n").strip()
    alone.write_text(f"name: alone\ntitle: Alone\n{cells}\n".replace("window: 32KiB", "congestion_control: nosuch"))
    refused = run_sh(str(alone), *ON_ANY_MACHINE)
    assert refused.returncode == 4, refused.stdout + refused.stderr
    assert "congctl nosuch" in refused.stderr
