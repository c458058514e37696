"""Carries out the verbs as a user would, in this process, on a simulator that may be sabotaged.

Everything that decides is the real code: the verbs, the judge, the tables, the claims. What is left out costs time and
decides nothing: the look at the machine, pages and their plots, the database, a process of its own for every run.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from testbed import confine, paths
from testbed.cli import app as cli
from testbed.documents import read_json
from testbed.engines import provenance
from testbed.machine import build
from tests.sabotage import question
from tests.sabotage.entry import Entry, Swap
from tests.sabotage.real import AllStored, as_real

SCENARIOS = Path(__file__).parent / "scenarios"
PAGES = (
    "testbed.engines.judging.leave_report",
    "testbed.study.report.page.write_table",
    "testbed.study.report.page.write_claims",
)

_build, _provenance = build.build_programs, cache(provenance.of_machine_and_code)
_policies = cache(build.policy_facts)


@dataclass
class Said:
    """How a command ended and what it printed."""

    code: int
    text: str


@dataclass
class Lab:
    """A place with results of its own, where one entry is at work."""

    place: Path
    entry: Entry
    patch: pytest.MonkeyPatch
    pages: bool = False
    """Whether pages and plots are made."""
    _made: dict[str, Path] = field(default_factory=dict)
    """What the simulator left, by plan: the same run for another level is not simulated again."""

    @property
    def results(self) -> Path:
        """Where result folders go."""
        return self.place / "results"

    def set_up(self) -> None:
        """Let every command of this process run here."""
        self.place.mkdir(parents=True, exist_ok=True)
        patch, entry = self.patch, self.entry
        patch.setenv("NCP_TESTBED_RESULTS", str(self.results))
        patch.setenv("NCP_TESTBED_STATE", str(self.place / "state"))  # no database is up there
        patch.setenv("NCP_TESTBED_INFLUX_PORT", "18087")
        simulator = simulator_of(tuple(entry.swaps), self.place.parent)
        patch.setattr("testbed.engines.engine.make_ready", lambda *_, **__: None)
        patch.setattr(build, "build_programs", lambda *_, **__: {"ncp-sim": simulator, "ncp-agent": simulator})
        patch.setattr(build, "policy_facts", _policies)
        patch.setattr(provenance, "of_machine_and_code", _provenance)
        patch.setattr("testbed.engines.engine.Engine.width", lambda _engine: 1)
        self._engine()
        self._question()
        if not self.pages:
            self._without_pages()
        if entry.python:
            entry.python(patch)

    def _question(self) -> None:
        from testbed.study.kinds import claims_file as claims

        self.patch.setattr(paths, "SCENARIOS", SCENARIOS)
        question.write(SCENARIOS / f"{self.entry.scenario}.yaml", self.place)
        self.patch.setattr("testbed.scenario.files.TABLES", self.place)
        known = self.place.parent.glob("*/known.csv")  # as its tables are shipped, so are their known values
        self.patch.setattr(confine, "OWN_FILES", (*confine.OWN_FILES, *known))
        of_here = partial(claims.load, self.place / "claims.yaml")
        self.patch.setattr("testbed.study.kinds.claims_file.load", of_here)

    def _without_pages(self) -> None:
        """Pages and plots decide nothing, and take most of the time."""
        self.patch.setattr("testbed.archive.page.check", lambda *_, **__: None)
        for page in PAGES:
            self.patch.setattr(page, lambda folder, *_: folder)
        self.patch.setattr("testbed.engines.judging._aligned", lambda *_: [])  # for the database only
        self.patch.setattr("testbed.study.report.plots.over_time", lambda *_: [])
        self.patch.setattr("testbed.study.report.plots.differences", lambda *_: [])
        self.patch.setattr("testbed.study.kinds.cross_check._plots", lambda *_: [])

    def ask(self, *arguments: str) -> Said:
        """``./run.sh ARGUMENTS``, in this process."""
        out, err = io.StringIO(), io.StringIO()
        before, sys.argv = sys.argv, ["./run.sh", *arguments]
        code = 0
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            sys.argv = before
        with (self.place / "said.txt").open("a") as log:
            log.write(f"$ {' '.join(arguments)}\n{err.getvalue()}{out.getvalue()}[{code}]\n\n")
        return Said(code, out.getvalue())

    def latest(self, name: str) -> Path:
        """The result folder of a scenario's or table's last run."""
        return (self.results / name / "latest").resolve()

    def _engine(self) -> None:
        from testbed.engines.sim import run

        simulate = run.simulate

        def sabotaged(folder: Path, simulator: Path) -> dict[str, Any]:
            plan = read_json(folder / "plan.json")
            key = json.dumps({k: v for k, v in plan.items() if k not in ("run", "scenario", "title")}, sort_keys=True)
            chosen = self._at_work(plan["seed"])
            if key in self._made:
                return _left_again(self._made[key], folder, plan)
            facts = simulate(folder, simulator if chosen else simulator_of((), self.place.parent))
            if chosen and chosen.data:
                chosen.data(folder)
            self._made[key] = self.place / "made" / str(len(self._made))
            shutil.copytree(folder, self._made[key])
            return facts

        self.patch.setattr(run, "simulate", sabotaged)
        carry_out = run.SimulatedRun.carry_out

        def told(this: run.SimulatedRun) -> Any:
            trust = carry_out(this)
            chosen = self._at_work(this.plan["seed"])
            if self.entry.real:
                change = self.entry.real if chosen else lambda _told: None
                trust, more = as_real(this.plan, this.folder, change)
                this.provenance |= more
                this.provenance["run"] |= provenance.of_plan(this.plan)
            return trust

        self.patch.setattr(run.SimulatedRun, "carry_out", told)
        if self.entry.real:
            self.patch.setattr("testbed.engines.virtual_run.Database", AllStored)

    def _at_work(self, seed: int) -> Entry | None:
        return self.entry if self.entry.only_seed in (None, seed) else None


def _left_again(made: Path, folder: Path, plan: Any) -> dict[str, Any]:
    """What the simulator left of the same plan, under the names of this run."""
    before = read_json(made / "plan.json")
    text = (made / "telemetry.lp").read_text()
    for name in ("run", "scenario"):
        text = text.replace(f"{name}={before[name]}", f"{name}={plan[name]}")
    (folder / "telemetry.lp").write_text(text)
    for name in ("events.csv", "sim.json"):
        shutil.copyfile(made / name, folder / name)
    shutil.copytree(made / "agents", folder / "agents")
    return read_json(folder / "sim.json")


@contextlib.contextmanager
def lab(place: Path, entry: Entry, *, pages: bool = False) -> Iterator[Lab]:
    """One that is gone, with all that it changed in this process, at the end."""
    with pytest.MonkeyPatch.context() as patch:
        made = Lab(place, entry, patch, pages)
        made.set_up()
        yield made


_simulators: dict[tuple[Swap, ...], Path] = {}


def simulator_of(swaps: tuple[Swap, ...], place: Path) -> Path:
    """``ncp-sim`` with the swaps, built in a folder of its own; the checkout's own programs stay as they are.

    Raises:
        AssertionError: what is to be replaced is not in its file exactly once.
    """
    if swaps not in _simulators:
        folder = place / f"go-{len(_simulators)}"
        folder.mkdir(parents=True, exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            if swaps:
                patch.setenv("GOFLAGS", f"-overlay={overlay_of(swaps, folder)}")
            _simulators[swaps] = _build("ncp-sim", into=folder / "bin")["ncp-sim"]
    return _simulators[swaps]


def overlay_of(swaps: tuple[Swap, ...], folder: Path) -> Path:
    """Go's file of replaced sources."""
    texts: dict[str, str] = {}
    for file, old, new in swaps:
        text = texts.get(file) or (paths.CHECKOUT / file).read_text()
        assert text.count(old) == 1, f"{file}: should have exactly once, has {text.count(old)} times: {old!r}"
        texts[file] = text.replace(old, new)
    replaced = {}
    for number, (file, text) in enumerate(texts.items()):
        (folder / f"{number}.go").write_text(text)
        replaced[str(paths.CHECKOUT / file)] = str(folder / f"{number}.go")
    overlay = folder / "overlay.json"
    overlay.write_text(json.dumps({"Replace": replaced}))
    return overlay
