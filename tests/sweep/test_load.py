"""Which runs a sweep file stands for, and what is told of one that is wrong."""

from pathlib import Path
from typing import Any

import pytest

from testbed.errors import BadInput
from testbed.scenario.files import is_sweep, sweeps
from testbed.study.kinds.sweep_file import load, planned
from tests.raises import Containing, Said

POLICIES: Any = {name: {"name": name} for name in ("previous", "nkp24")}

TEXT = """\
name: tiny
title: Two windows
scenario: startup
seconds: 3s
set: {links.slow.delay: 10ms}
parameters:
  ncp.send_window: [1MiB, 2MiB]
  loss:
    - {label: none, set: {links.fast.loss: 0%}}
    - {label: some, set: {links.fast.loss: 1%, links.slow.loss: 1%}}
policies: [nkp24, previous]
seeds: 2
plots:
  - {figure: of_bound, x: ncp.send_window, panels: loss}
quick:
  seeds: 1
"""


def written(folder: Path, text: str) -> str:
    file = folder / "tiny.yaml"
    file.write_text(text)
    return str(file)


def plan_all(file: str) -> None:
    list(planned(load(file), POLICIES))


def test_runs_are_all_combinations(tmp_path: Path) -> None:
    found = list(planned(load(written(tmp_path, TEXT)), POLICIES))
    assert len(found) == 2 * 2 * 2 * 2
    assert [place for place, _ in found[:3]] == [
        ("ncp.send_window=1MiB loss=none", "nkp24", 1),
        ("ncp.send_window=1MiB loss=none", "nkp24", 2),
        ("ncp.send_window=1MiB loss=none", "previous", 1),
    ]
    plans = [plan for _, plan in found]
    assert [plan["seed"] for plan in plans[:3]] == [1, 2, 1]
    assert len({plan["run"] for plan in plans}) == len(plans)
    last = plans[-1]
    assert [link["loss"] for link in last["links"]] == [0.01, 0.01]
    assert last["sessions"][0]["send_window_bytes"] == 2 << 20
    # 3 s of what 1024 and 128 packets/s carry, less the loss.
    assert last["sessions"][0]["transfer_bytes"] == round(1152 * 0.99 * 3) * 1024
    assert last["links"][1]["delay_ms"] == 10
    assert len(list(planned(load(written(tmp_path, TEXT), quick=True), POLICIES))) == 8


@pytest.mark.parametrize("assignment", ["policy=nkp24", "ncp.policy=previous", "send_window=4MiB", "links.slow.loss=0"])
def test_what_runs_are_named_after_can_not_be_set(tmp_path: Path, assignment: str) -> None:
    loaded = load(written(tmp_path, TEXT), [assignment])
    with pytest.raises(BadInput, match=f"--set {assignment}: is what the runs of tiny differ in"):
        loaded.refuse_varied()
    load(written(tmp_path, TEXT), ["links.fast.delay=5ms"]).refuse_varied()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "[1MiB, 2MiB]",
            "[1MiB, 2parsecs]",
            Said("quantity.unknown-unit", place=Containing("tiny.yaml:7: parameters.ncp.send_window: '2parsecs'")),
        ),
        (
            "  ncp.send_window: [1MiB",
            "  ncp.send_windo: [1MiB",
            Said("sweep.no-such-parameter", parameter="ncp.send_window"),
        ),
        ("x: ncp.send_window, panels: loss", "x: ncp.send_window", Said("sweep.mixed-values", parameter="loss")),
        ("figure: of_bound", "figure: speed", Said("sweep.no-such-figure", figure="speed")),
        ("[1MiB, 2MiB]", "[1MiB, 1MiB]", Said("sweep.value-twice", key="ncp.send_window")),
        ("[1MiB, 2MiB]", "[]", Said("sweep.no-values", key="ncp.send_window")),
        (
            "seeds: 2",
            "seeds: 0",
            Said("input.wrong-type", place=Containing("tiny.yaml:12: seeds"), line=12, field="seeds"),
        ),
        ("seeds: 2", "seed_count: 2", Said("input.unknown-key", key="seed_count")),
        (
            "scenario: startup",
            "scenario: startupp",
            Said("scenario.not-found", guess=Containing("did you mean 'startup'")),
        ),
        ("links.slow.delay", "links.slw.delay", Said("set.no-such-entry", name="slw")),
        ("[nkp24, previous]", "[nkp24, fastest]", Said("scenario.no-such-policy", name="fastest")),
        (
            "links.fast.loss: 1%",
            "links.fastest.loss: 1%",
            Said("set.no-such-entry", place=Containing("links.fastest.loss")),
        ),
        ("  seeds: 1", "  sed: 1", Said("sweep.bad-quick", key="sed")),
    ],
)
def test_a_mistake_is_located(tmp_path: Path, old: str, new: str, said: Said) -> None:
    assert old in TEXT
    file = written(tmp_path, TEXT.replace(old, new))
    with pytest.raises(BadInput) as caught:
        plan_all(file)
    said.check(caught.value)
    assert "startup" in old or "tiny.yaml" in caught.value.message


def test_those_shipped_are_known() -> None:
    assert {path.stem for path in sweeps()} >= {"window-rtt", "converge-rate", "loss-policy", "connections"}
    assert is_sweep("window-rtt")
    assert not is_sweep("startup")
