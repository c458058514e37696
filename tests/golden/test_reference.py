"""Reference results in virtual time come out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.machine.guest_kernel import Kernel
from tests.golden import guest, plans, reference, text
from tests.golden.test_golden import NKP24
from tests.sabotage.lab import simulator_of

SIMULATED = reference.runs("sim")
IN_GUESTS = reference.runs("vkernel")


def difference(name: str, scratch: Path) -> str:
    run = SIMULATED[name]
    return text.difference(name, (run / reference.WINDOWS).read_text(), reference.windows_again(run, scratch))


def test_they_are_all_there() -> None:
    assert (len(SIMULATED), len(IN_GUESTS)) == (12, 12)


@pytest.mark.parametrize("name", SIMULATED)
def test_windows_of_a_simulation_are_the_same_bytes(name: str, tmp_path: Path) -> None:
    assert not (found := difference(name, tmp_path)), found


def test_other_windows_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plans.programs().binaries, "ncp-sim", simulator_of((NKP24,), tmp_path))
    (tmp_path / "again").mkdir()
    found = difference("startup", tmp_path / "again")
    assert found.count("\n-") > 10


@pytest.mark.nightly
@pytest.mark.parametrize("name", IN_GUESTS)
def test_figures_of_a_guest_are_the_same_to_a_thousandth(
    exact_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    run = IN_GUESTS[name]
    found = reference.differences(name, reference.figures(run), reference.guest_again(run, tmp_path / "results"))
    assert not found, "\n".join(found)


def test_figures_that_are_not_compared_are_few_and_of_runs_that_there_are() -> None:
    assert set(reference.OTHERWISE) - {"why"} <= set(IN_GUESTS)
    compared = {name: reference.figures(run) for name, run in IN_GUESTS.items()}
    for name in set(reference.OTHERWISE) - {"why"}:
        for figure, (then, _now) in reference.OTHERWISE[name].items():
            assert not guest.differences({figure: then}, {figure: compared[name][figure]})
    known = sum(len(reference.OTHERWISE.get(name, {})) for name in IN_GUESTS)
    assert (known, sum(map(len, compared.values()))) == (34, 461)


@pytest.mark.parametrize("name", IN_GUESTS)
def test_each_other_figure_of_a_guest_that_is_0_2_percent_off_is_seen(name: str) -> None:
    figures = reference.figures(IN_GUESTS[name])
    for figure, value in figures.items():
        if figure not in reference.OTHERWISE.get(name, {}):
            off = value * 1.002 + (value == 0) if isinstance(value, float) else f"not {value}"
            assert len(reference.differences(name, figures, {**figures, figure: off})) == 1, figure
