"""The benchmark of the protocol's speed."""

import json
from pathlib import Path

import pytest

from testbed.lab import ncp
from testbed.lab.ncp import Session, Transfer
from testbed.lab.table import all_met
from tests.bench.test_bench_links import bench


def measured(goodput_bps: float, growth_bytes: int) -> dict[str, list[Transfer]]:
    """One repeat in which all sessions come out alike, and TCP at 10 Gbit/s."""
    transfer = Transfer(goodput_bps, 1.5, 20 << 20, growth_bytes, 0.01)
    return {name: [transfer] for name in ncp.SESSIONS} | {ncp.TCP: [Transfer(10e9, 0.5)]}


def test_a_window_per_interval_is_the_bound() -> None:
    assert Session("udp", ack_interval_ms=50, max_ack_ranges=32).bound_bps == pytest.approx(671.09e6, rel=1e-4)
    assert all(session.bound_bps > ncp.TARGET_BPS for name, session in ncp.SESSIONS.items() if "default" not in name)


@pytest.mark.parametrize(
    ("goodput_bps", "growth_bytes", "met"), [(2e9, 10 << 20, True), (0.9e9, 10 << 20, False), (2e9, 1 << 28, False)]
)
def test_rate_and_memory_are_judged(goodput_bps: float, growth_bytes: int, met: bool) -> None:
    section = ncp.section(measured(goodput_bps, growth_bytes), 1 << 30)
    assert all_met([section]) is met
    ours, tcp = section.rows[0], section.rows[-1]
    assert (ours[2], tcp[2]) == (f"{goodput_bps / 10e9:.2f}", "1.00")
    assert all(len(row) == len(section.columns) for row in section.rows)


def test_only_the_links_have_parts(tmp_path: Path) -> None:
    done = bench(tmp_path, "ncp", "--only", "rtt")
    assert done.returncode == 2
    assert "only bench links has parts" in done.stderr


@pytest.mark.packets
@pytest.mark.nightly  # a second of gigabits for each of five sessions: it leaves little to what is tested beside it
def test_a_quick_benchmark_leaves_its_figures(tmp_path: Path) -> None:
    done = bench(tmp_path, "ncp", "--quick")
    # How fast it is depends on what else the machine does.
    assert done.returncode in (0, 1), done.stdout + done.stderr
    folder = tmp_path / "results" / "bench-ncp" / "latest"
    (section,) = json.loads((folder / "bench.json").read_text())["sections"]
    assert set(section["raw"]) == {*ncp.SESSIONS, ncp.TCP}
    assert all(len(figures["goodput_bps"]) == 1 for figures in section["raw"].values())
    memory = [target for target in section["targets"] if target["name"].startswith("memory")]
    assert len(memory) == len(ncp.SESSIONS)
    assert all(target["met"] for target in memory), memory
    assert "| NCP over UDP |" in (folder / "bench.md").read_text()
