"""The golden files, and what makes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from testbed.scenario import files
from tests.golden import plans, run_ids, telemetry, text

FOLDER = Path(__file__).with_name("files")
COMMAND = "PYTHONPATH=. .venv/bin/python -m tests.golden"


def made() -> Mapping[str, Callable[[], str]]:
    """What gives the text of each file, by its name in :data:`FOLDER`."""
    return {
        **{f"plans/scenarios/{path.stem}.json": partial(plans.of_scenario, path) for path in plans.scenarios()},
        **{f"plans/tables/{path.stem}.json": partial(plans.of_table, path) for path in files.tables()},
        **{f"plans/sweeps/{path.stem}.json": partial(plans.of_sweep, path) for path in files.sweeps()},
        "run-ids.json": run_ids.whole,
        "telemetry.json": telemetry.whole,
    }


def difference(name: str) -> str:
    """Of a golden file from what comes today; empty where there is none."""
    file = FOLDER / name
    recorded = file.read_text(encoding="utf-8") if file.is_file() else ""
    found = text.difference(name, recorded, made()[name]())
    return found and f"{found}\nIf that is meant: {COMMAND}"
