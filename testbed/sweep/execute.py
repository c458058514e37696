"""Runs a sweep's plans on all cores; what is finished is kept in ``runs.jsonl``, by the run's id."""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

from testbed.checks.evidence import CannotJudge
from testbed.errors import RunFailed
from testbed.plan.resolve import Plan
from testbed.runner.progress import Progress, Step
from testbed.simulator.run import simulate
from testbed.sweep.figures import measure, rules

Outcome = dict[str, Any]
"""``state``: ``ok``, or why there are no figures; and the figures."""

BAR = 24


def kept(file: Path) -> dict[str, Outcome]:
    """Finished runs by id; a line that a stop has cut off, or that other rules measured, is none."""
    found: dict[str, Outcome] = {}
    if not file.is_file():
        return found
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry.get("rules") == rules():
            found[entry["run"]] = entry["outcome"]
    return found


def execute(plans: Sequence[Plan], simulator: Path, file: Path, progress: Progress) -> dict[str, Outcome]:
    """The outcome of every plan by its run's id; those that ``file`` has are not run again."""
    known = kept(file)
    todo = list({plan["run"]: plan for plan in plans if plan["run"] not in known}.values())
    if len(todo) < len(plans):
        progress.say(f"  {len(plans) - len(todo)} of {len(plans)} runs are finished already, and kept")
    file.parent.mkdir(parents=True, exist_ok=True)
    step = Step("runs")
    with file.open("a", encoding="utf-8") as out:
        out.write("\n" if file.stat().st_size else "")  # what a stop has cut off ends here
        for done, (run, outcome) in enumerate(_in_parallel(todo, simulator), start=1):
            out.write(json.dumps({"run": run, "rules": rules(), "outcome": outcome}) + "\n")
            out.flush()
            known[run] = outcome
            progress.update(step, _bar(done, len(todo), step.elapsed_s))
    if todo:
        progress.say(f"  {len(todo)} runs in {step.elapsed_s:.1f} s, {step.elapsed_s / len(todo):.3f} s each")
    return {plan["run"]: known[plan["run"]] for plan in plans}


def _in_parallel(plans: Sequence[Plan], simulator: Path) -> Iterable[tuple[str, Outcome]]:
    """Run ids and outcomes as they come; a few more are handed out than there are cores, for a stop to end soon."""
    workers = min(os.cpu_count() or 1, max(1, len(plans)))
    # Spawned, not forked: a fork of a process with threads may hang.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        left = iter(plans)
        waiting: set[Future[tuple[str, Outcome]]] = set()
        while True:
            for plan in left:
                waiting.add(pool.submit(run_one, plan, simulator))
                if len(waiting) >= 2 * workers:
                    break
            if not waiting:
                return
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()


def run_one(plan: Plan, simulator: Path) -> tuple[str, Outcome]:
    """Simulate and measure, in a folder that is gone afterwards: only the figures are kept."""
    with tempfile.TemporaryDirectory(prefix="ncp-sweep-") as place:
        folder = Path(place)
        (folder / "logs").mkdir()
        (folder / "plan.json").write_text(json.dumps(plan))
        try:
            simulate(folder, simulator)
            return plan["run"], {"state": "ok", **measure(plan, folder)}
        except RunFailed as error:
            return plan["run"], {"state": error.message}
        except CannotJudge as error:
            return plan["run"], {"state": str(error)}


def _bar(done: int, total: int, elapsed_s: float) -> str:
    filled = BAR * done // total
    left_s = elapsed_s / done * (total - done)
    return f"{'━' * filled}{'·' * (BAR - filled)} {done}/{total}, {left_s:.0f} s left"


def states(outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    """Why runs have no figures, by run id."""
    return {run: str(o["state"]) for run, o in outcomes.items() if o["state"] != "ok"}
