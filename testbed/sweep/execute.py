"""Runs a sweep's plans on all cores; what is finished is kept in ``runs.jsonl``, by the run's id."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from testbed.checks.evidence import CannotJudge
from testbed.errors import RunFailed
from testbed.plan.resolve import Plan
from testbed.runner.progress import Progress, Step
from testbed.runner.side_by_side import side_by_side, width_of
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

        def keep(plan: Plan, outcome: Outcome, _seconds: float) -> None:
            out.write(json.dumps({"run": plan["run"], "rules": rules(), "outcome": outcome}) + "\n")
            out.flush()
            known[plan["run"]] = outcome
            done = sum(plan["run"] in known for plan in todo)
            progress.update(step, _bar(done, len(todo), step.elapsed_s))

        side_by_side(todo, partial(run_one, simulator=simulator), keep, width=width_of("sim"))
    if todo:
        progress.say(f"  {len(todo)} runs in {step.elapsed_s:.1f} s, {step.elapsed_s / len(todo):.3f} s each")
    return {plan["run"]: known[plan["run"]] for plan in plans}


def run_one(plan: Plan, simulator: Path) -> Outcome:
    """Simulate and measure, in a folder that is gone afterwards: only the figures are kept."""
    with tempfile.TemporaryDirectory(prefix="ncp-sweep-") as place:
        folder = Path(place)
        (folder / "logs").mkdir()
        (folder / "plan.json").write_text(json.dumps(plan))
        try:
            simulate(folder, simulator)
            return {"state": "ok", **measure(plan, folder)}
        except RunFailed as error:
            return {"state": error.message}
        except CannotJudge as error:
            return {"state": str(error)}


def _bar(done: int, total: int, elapsed_s: float) -> str:
    filled = BAR * done // total
    left_s = elapsed_s / done * (total - done)
    return f"{'━' * filled}{'·' * (BAR - filled)} {done}/{total}, {left_s:.0f} s left"


def states(outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    """Why runs have no figures, by run id."""
    return {run: str(o["state"]) for run, o in outcomes.items() if o["state"] != "ok"}
