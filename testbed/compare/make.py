"""Makes the runs of the versions that are compared: each version with each seed."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from testbed.checks.result import Trust
from testbed.compare.groups import Group, Variant, read_run
from testbed.compare.programs import Programs, programs
from testbed.errors import BadInput, CannotRun, RunFailed, TestbedError
from testbed.plan.resolve import Choices, Plan, expected_transfer_s, new_run_id, resolve
from testbed.runner.progress import Progress, QuietProgress, Step
from testbed.scenario.load import LoadedScenario, load
from testbed.simulator.refusals import refusals
from testbed.simulator.run import run_id

OCCASION = "compare"
"""So that what history keeps of scenarios is not mixed with trials of other versions."""


@dataclass(frozen=True)
class Asked:
    """What is the same for all versions."""

    engine: Literal["mininet", "sim"]
    seeds: int
    quick: bool
    assignments: tuple[str, ...]
    runtime: Literal["docker", "process"] = "docker"
    link: Literal["auto", "netem", "relay"] = "auto"


@dataclass(frozen=True)
class Version:
    """A variant that is ready to be run."""

    name: str
    loaded: LoadedScenario
    programs: Programs
    choices: Choices

    @property
    def folder(self) -> str:
        """The name as a folder's."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.name).strip("-.") or "version"

    def plan(self, repetition: int) -> Plan:
        """Of its run with the n-th seed, from 0; raises BadInput and CannotRun for what can't be run."""
        first = self.loaded.scenario.seed
        choices = Choices(**{**self.choices.__dict__, "seed": first + repetition})
        if choices.engine != "sim":
            from testbed.runner.middle_choice import refuse_what_the_middle_cannot_do

            plan = resolve(self.loaded, self.programs.policies, choices, new_run_id())
            refuse_what_the_middle_cannot_do(plan)
            return plan
        plan = resolve(self.loaded, self.programs.policies, choices, "sim")
        plan["run"] = run_id(plan, self.programs.digest("ncp-sim").encode())
        if refused := refusals(plan):
            raise CannotRun("\n".join(refused), "Compare it with --engine mininet.")
        return plan


def versions(variants: Sequence[Variant], asked: Asked) -> list[Version]:
    """Every variant loaded and built, with all of its plans tried; raises before anything is run."""
    found = []
    for variant in variants:
        loaded = load(variant.scenario, [*asked.assignments, *variant.assignments], quick=asked.quick)
        built = programs(variant.commit, asked.engine)
        version = Version(variant.name, loaded, built, choices_of(asked))
        try:
            version.plan(0)
        except BadInput as error:
            raise BadInput(f"{variant.name}: {error.message}", error.hint) from error
        found.append(version)
    return found


def choices_of(asked: Asked) -> Choices:
    """With the seed left open: each run has its own."""
    if asked.engine == "sim":
        return Choices("virtual", "model", None, asked.quick, OCCASION, engine="sim")
    from testbed.runner.middle_choice import choose_middle

    return Choices(asked.runtime, choose_middle(asked.link), None, asked.quick, OCCASION)


def make(found: Sequence[Version], asked: Asked, folder: Path, progress: Progress) -> list[Group]:
    """Run every version with every seed; their result folders are ``<folder>/<version>/<run>``."""
    how = _simulated if asked.engine == "sim" else _emulated
    step = Step("runs")
    runs: dict[str, list[tuple[int, Path]]] = {version.name: [] for version in found}
    total = len(found) * asked.seeds
    for done, (name, repetition, place) in enumerate(how(found, asked, folder, progress), start=1):
        runs[name].append((repetition, place))
        left_s = step.elapsed_s / done * (total - done)
        progress.update(step, f"{done}/{total}, {left_s:.0f} s left")
    progress.say(f"  {total} runs in {step.elapsed_s:.1f} s")
    return [Group(name, [read_run(place) for _, place in sorted(places)]) for name, places in runs.items()]


Made = Iterator[tuple[str, int, Path]]


def _simulated(found: Sequence[Version], asked: Asked, folder: Path, _: Progress) -> Made:
    """On all cores."""
    from testbed.runner import provenance

    machine_and_code = provenance.of_machine_and_code()
    # Spawned, not forked: a fork of a process with threads may hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(found) * asked.seeds), mp_context=context) as pool:
        waiting = {}
        for repetition in range(asked.seeds):
            for version in found:
                plan = version.plan(repetition)
                place = folder / version.folder / plan["run"]
                facts = {**machine_and_code, **version.programs.facts}
                simulator = version.programs.binaries["ncp-sim"]
                future = pool.submit(simulate_one, plan, version.loaded.text, simulator, place, facts)
                waiting[future] = (version.name, repetition, place)
        for future in as_completed(waiting):
            future.result()
            yield waiting[future]


def simulate_one(plan: Plan, scenario: str, simulator: Path, folder: Path, facts: Mapping[str, Any]) -> None:
    """One run in virtual time with its verdict, but without plots and database: there are many.

    ``facts``: what provenance says of machine and code."""
    from testbed.runner import provenance
    from testbed.runner.judging import judge_from, write_broken
    from testbed.series import FromFile
    from testbed.simulator.run import simulate

    (folder / "logs").mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(plan, indent=1, ensure_ascii=False) + "\n")
    (folder / "scenario.yaml").write_text(scenario)
    document = {**facts, "run": provenance.of_plan(plan)}
    try:
        document["simulation"] = simulate(folder, simulator)
        reader = FromFile(folder / "telemetry.lp")
        judge_from(plan, folder, reader, Trust(trusted=True), reader.count_points(), None)
    except RunFailed as error:
        write_broken(plan, folder, None, error.message, [])
    (folder / "provenance.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _emulated(found: Sequence[Version], asked: Asked, folder: Path, progress: Progress) -> Made:
    """One after the other, the versions in turn, so that what changes on the machine meets all of them alike."""
    from testbed.runner.interrupts import Interrupted
    from testbed.runner.kinds import run_class

    seconds = sum(expected_transfer_s(version.plan(0)) for version in found) * asked.seeds
    progress.say(f"  {len(found) * asked.seeds} runs, {seconds / 60:.1f} min of transfer")
    for repetition in range(asked.seeds):
        for version in found:
            plan = version.plan(repetition)
            run = run_class(plan)(
                plan, version.loaded, version.programs.binaries, QuietProgress(), results=folder / version.folder
            )
            try:
                run.execute()
            except (Interrupted, CannotRun):
                raise
            except TestbedError as error:
                if not (run.folder / "verdict.json").exists():
                    raise
                progress.say(f"  {version.name}, seed {run.plan['seed']}: {error.message}")
            yield version.name, repetition, run.folder
