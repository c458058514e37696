"""Runs of ``reference/`` in virtual time, to be made again from the plans that lie beside their windows."""

from __future__ import annotations

import shutil
from pathlib import Path

from testbed import paths
from testbed.checks.windows_csv import write_windows_csv
from testbed.documents import read_json
from testbed.engines.sim.run import simulate
from testbed.series import FromFile
from tests.golden import plans

WINDOWS = "windows.csv"


def runs(engine: str) -> dict[str, Path]:
    """Their folders, by the name of the claims' run that each is of."""
    place = paths.CHECKOUT / "reference"
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
