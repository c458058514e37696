"""Runs that are not there, or count for what they are not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import RunFailed
from testbed.study.run import Each, StudySpec, run_study
from tests.sabotage.catalogue.machine import starved
from tests.sabotage.catalogue.telemetry import each, field
from tests.sabotage.entry import Entry, Level, Swap

_SINGLE: Mapping[Level, str] = {"run": "a single run has the first seed"}


def _drop_last(patch: pytest.MonkeyPatch) -> None:
    """Whoever runs the cells of a table, alone or for claims, hands one less on."""
    from testbed.study.kinds import claims
    from testbed.study.kinds import table as table_run

    def without(last: str, each: Each) -> Each:
        return lambda result: None if result.cell == last else each(result)

    def study(spec: StudySpec, *given: Any, each: Each, **more: Any) -> object:
        return run_study(spec, *given, each=without(spec.cells[-1].id, each), **more)

    patch.setattr(table_run, "run_study", study)
    patch.setattr(claims, "run_study", study)


def _two_of_three(patch: pytest.MonkeyPatch) -> None:
    """Whoever runs the cells of a table, alone or for claims, leaves the last out altogether."""
    from testbed.study.kinds import claims
    from testbed.study.kinds import table as table_run

    def study(spec: StudySpec, *given: Any, **more: Any) -> object:
        return run_study(replace(spec, cells=spec.cells[:-1]), *given, **more)

    patch.setattr(table_run, "run_study", study)
    patch.setattr(claims, "run_study", study)


def _broken(folder: Path) -> None:
    raise RunFailed("sim.ended", "the simulator ended with 1: it was told to")


def _failed(folder: Path) -> None:
    """Its receiver says that it did not come to its end."""
    file = folder / "agents" / "s1-receiver.json"
    result = json.loads(file.read_text())
    file.write_text(json.dumps({**result, "bytes": 0, "goodput_bps": 0.0, "sha256": "", "error": "no packet for 30 s"}))


SEED_IGNORED = Entry(
    "seed-ignored",
    "counting",
    "links that draw their losses from one seed, whatever the run's is",
    (Swap("ncp-agent/sim/network.go", "cmp.Or(l.Seed, run.Seed)", "cmp.Or(l.Seed*0, 1, run.Seed)"),),
)
"""No run alone shows it; of the laboratory's scenarios none loses packets by chance."""
_NOT_IN_A_RUN: dict[Level, str] = {"run": "a single run is not counted"}

ENTRIES = (
    Entry(
        "run-missing",
        "counting",
        "a repetition that hands on two of its three runs",
        python=_drop_last,
        unreached={**_NOT_IN_A_RUN, "compare": "the third run is in its folder, where compare reads it"},
    ),
    Entry("cell-left-out", "counting", "a table that leaves a cell out", python=_two_of_three, unreached=_NOT_IN_A_RUN),
    Entry(
        "one-of-three-broken",
        "counting",
        "the second of three runs breaks down",
        data=_broken,
        only_seed=2,
        unreached=_SINGLE,
    ),
    Entry(
        "one-of-three-failed",
        "counting",
        "in the second of three runs the receiver gives up",
        data=_failed,
        only_seed=2,
        unreached=_SINGLE,
    ),
    Entry(
        "one-of-three-untrusted",
        "counting",
        "the second of three runs is made on a starved machine",
        real=starved,
        only_seed=2,
        expected="untrusted",
        unreached=_SINGLE,
    ),
    Entry("all-broken", "counting", "no run comes to its end", data=_broken),
    Entry(
        "goodput-twice",
        "counting",
        "a receiver that counts every byte twice in its goodput",
        (Swap("ncp-agent/metrics/result.go", "float64(bytes) * 8 / d", "float64(2*bytes) * 8 / d"),),
        expected="untrusted",
    ),
    Entry(
        "received-bytes-twice",
        "counting",
        "a receiver whose telemetry counts every byte twice",
        data=each(field("bytes", lambda v: f"{2 * v:.0f}i"), "ncp_session,"),
        expected="untrusted",
    ),
)
