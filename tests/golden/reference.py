"""Runs of ``data/reference/`` in virtual time, to be made again from the plans that lie beside their windows.

Those in the simulator have the same bytes. Of those in a guest kernel verdicts, links and the means of windows and
round trips are compared; ``files/reference-guest.json`` says which are not as they were, with both values, and why.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.documents import read_json
from testbed.engines.sim.run import simulate
from testbed.engines.vkernel.run import GuestRun
from testbed.judge.checks.derived import write_windows_csv
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load
from testbed.series import FromFile
from tests.golden import guest, plans
from tests.golden.guest import Figures

WINDOWS = "windows.csv"
COMPARED = re.compile(
    r"verdict|(?!database).*: status|links .*(rate_bps|delay_ms|loss)|windows .* (window|share|rtt_ms) mean"
)
"""Figures that don't follow from the moment of a sample. Verdicts of reference results had a database."""
OTHERWISE: Mapping[str, Any] = read_json(guest.RECORDED.with_name("reference-guest.json"))
"""By run, its figures that are not compared: what they were and what they are; and ``why``."""


def runs(engine: str) -> dict[str, Path]:
    """Their folders, by the name of the claims' run that each is of."""
    place = paths.CHECKOUT / "data" / "reference"
    folders = [file.parent for file in sorted(place.rglob(WINDOWS)) if (file.parent / "plan.json").is_file()]
    chosen = [folder for folder in folders if read_json(folder / "plan.json")["engine"] == engine]
    return {folder.relative_to(place).parts[2]: folder for folder in chosen}


def windows_again(run: Path, scratch: Path) -> str:
    """What a simulated run's windows are today, by its own plan; ``scratch`` is an empty folder."""
    (scratch / "logs").mkdir()
    shutil.copyfile(run / "plan.json", scratch / "plan.json")
    simulate(scratch, plans.programs().binaries["ncp-sim"])
    sessions = [session["name"] for session in read_json(run / "plan.json")["sessions"]]
    write_windows_csv(FromFile(scratch / "telemetry.lp"), sessions, scratch / WINDOWS)
    return (scratch / WINDOWS).read_text()


def figures(folder: Path) -> Figures:
    """Of a guest's run, those that are compared."""
    return {name: value for name, value in guest.figures(folder).items() if COMPARED.fullmatch(name)}


def guest_again(run: Path, results: Path) -> Figures:
    """Of the same plan today; its result folder goes to ``results``. The guest kernel must be built."""
    plan: Any = read_json(run / "plan.json")
    made = GuestRun(plan, load(plan["scenario"]), {}, QuietProgress(), results)
    made.without_database(None)
    return figures(made.folder)


def differences(name: str, before: Figures, now: Figures) -> list[str]:
    """A line for each figure of a guest's run that is not as it was, but for those known to be otherwise."""
    known = OTHERWISE.get(name, {})
    of_today, of_then = ({key: value for key, value in some.items() if key not in known} for some in (now, before))
    return guest.differences(of_then, of_today)
