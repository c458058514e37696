"""The benchmarks of virtual time: their tables and verdicts, and small ones for real."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from testbed.lab import overlay, simulator
from testbed.machine import build


@pytest.fixture(scope="module")
def program() -> Path:
    return build.build_programs("ncp-sim")["ncp-sim"]


def test_distributions_of_a_small_overlay(program: Path) -> None:
    report = overlay.simulate(program, 3)
    again = overlay.simulate(program, 3)
    for found in (report, again):
        assert found.pop("cost")["cpu_s"] > 0
    assert report == again
    report["cost"] = {"cpu_s": 301.0, "wall_s": 200.0, "peak_bytes": 3 << 20}
    found = overlay.distributions(report)
    assert len(found["goodput of a session, Mbit/s"]) == 3
    assert sum(relay["connections"] for relay in report["relays"]) == 3 * 8
    assert all(0 <= use <= 1.1 for use in found["share of a relay's rate in use"])
    spread = overlay.spread_section({3: report})
    assert len(spread.rows) == len(found)
    cost = overlay.cost_section({3: report})
    assert cost.rows[0][cost.columns.index("wall s")] == "200.0"
    assert cost.rows[0][-1] == "1.00"
    assert cost.targets[0].met is False


def test_zeros_are_the_same_simulation(program: Path, tmp_path: Path) -> None:
    plan = simulator._plan(tmp_path, build.policy_facts(program), 1)
    drawn, zeros = simulator.simulate(program, plan), simulator.simulate(program, plan, ("--zeros",))
    assert (drawn.virtual_s, drawn.packets) == (zeros.virtual_s, zeros.packets)
    assert drawn.times_real > 1


@pytest.mark.parametrize(("cpu_s", "met"), [(0.1, [True, True, True]), (1.0, [False, False, True])])
def test_targets_of_speed(cpu_s: float, met: list[bool]) -> None:
    run = simulator.Simulated(43.0, cpu_s, 10 << 20, 500_000)
    found = {case: [run] for case in product(simulator.PAYLOADS, simulator.TRANSFERS_MIB)}
    assert [target.met for target in simulator.speed_section(found).targets] == met


def test_target_of_parallel_runs() -> None:
    assert simulator.parallel_section([1.9, 1.2, 1.8], 2).targets[0].met is True
    assert simulator.parallel_section([1.9, 1.2, 1.3], 2).targets[0].met is False
