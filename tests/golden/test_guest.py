"""Runs in a guest kernel have the verdicts and, to a thousandth, the figures that are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.machine.guest_kernel import Kernel
from tests.golden import guest

RECORDED = guest.recorded()


def test_each_run_is_recorded() -> None:
    assert RECORDED.keys() == guest.RUNS.keys()
    for figures in RECORDED.values():
        assert figures["verdict"] == "pass"
        assert len(figures) > 100


@pytest.mark.parametrize("name", guest.RUNS)
def test_a_guest_has_the_recorded_figures(
    exact_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    found = guest.differences(RECORDED[name], guest.again(name, tmp_path / "results"))
    assert not found, "\n".join([*found[:20], f"{len(found)} figures in all"])


@pytest.mark.parametrize("name", guest.RUNS)
def test_any_figure_that_is_0_2_percent_off_is_seen(name: str) -> None:
    recorded = RECORDED[name]
    for figure, value in recorded.items():
        off, near = (value * 1.002, value * 1.0005) if isinstance(value, (int, float)) else ("other", value)
        if value == 0:
            off = 0.001
        assert guest.differences(recorded, {**recorded, figure: off}), figure
        assert not guest.differences(recorded, {**recorded, figure: near}), figure


def test_a_figure_that_is_missing_or_new_is_seen() -> None:
    some: guest.Figures = {"verdict": "pass", "rate": 1.0}
    assert guest.differences(some, {"verdict": "pass"}) == ["rate: recorded 1.0, now None"]
    assert guest.differences(some, {**some, "loss": 0.0}) == ["loss: recorded None, now 0.0"]
    assert guest.differences(some, {**some, "verdict": "fail"}) == ["verdict: recorded pass, now fail"]
