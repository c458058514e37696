"""The plots of a result folder as a paper prints them: PDF, as wide as a column, drawn from the same data."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from testbed.archive import page
from testbed.archive.kinds import drawn_again
from testbed.results.report import style

FOLDER = "paper"


def export(folder: Path) -> list[Path]:
    """``paper/<plot>.pdf`` and, beside each, its points as CSV; their paths, none where the folder has no plot."""
    with tempfile.TemporaryDirectory(prefix="ncp-paper-") as place, style.for_paper():
        again = Path(place, folder.resolve().name)
        drawn_again(folder, again)
        made = sorted(path for path in (again / page.PLOTS).glob("*") if path.suffix in (".pdf", ".csv"))
        if made:
            (folder / FOLDER).mkdir(exist_ok=True)
        return [Path(shutil.copyfile(path, folder / FOLDER / path.name)) for path in made]
