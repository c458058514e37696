"""A result folder's plots and page: written anew, and drawn again beside it and compared."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

from testbed.archive import provenance_check
from testbed.judge.verify import text_differences
from testbed.study.verify import Verification

PAGE, PLOTS = "report.html", "plots"
DRAWING = re.compile(r"<svg.*?</svg>", re.DOTALL)


def write_page(folder: Path) -> Path:
    """Plots and ``report.html`` anew, from the folder's own files; returns the page's path.

    Raises BadInput where a file is missing or broken.
    """
    # What writes the pages of claims takes as long to load as a run's page to be written.
    if (folder / "claims.json").is_file():
        from testbed.study.report.page import write_claims

        return write_claims(folder)
    if (folder / "table.json").is_file():
        from testbed.study.report.page import write_table

        return write_table(folder)
    from testbed.results.report.render import write_report

    return write_report(folder)


def check(folder: Path, verified: Verification, recorded: Mapping[str, Any], *, needed: bool) -> None:
    """``recorded`` is the provenance of what the folder holds; ``needed``: without a page the folder is not whole."""
    if not (folder / PAGE).is_file() and not (folder / PLOTS).is_dir():
        if needed:
            verified.differences.add_message("file.not-there", f"{PAGE}: is not there")
        return
    with tempfile.TemporaryDirectory(prefix="ncp-verify-") as place:
        again = Path(place, folder.resolve().name)
        beside(folder, again)
        write_page(again)
        compare(folder, again, verified, recorded)


def beside(folder: Path, place: Path) -> None:
    """A folder with all that ``folder`` has but its page and plots, by links."""
    place.mkdir()
    for path in folder.resolve().iterdir():
        if path.name not in (PAGE, PLOTS):
            (place / path.name).symlink_to(path)


def compare(folder: Path, again: Path, verified: Verification, recorded: Mapping[str, Any]) -> None:
    """Plots and their points byte by byte, and the page's text. Drawn by another matplotlib, only the points are
    compared; neither is a page by other code, which would say the same in other words, nor are plots that such code did
    not draw."""
    by = str(recorded.get("packages", {}).get("matplotlib", ""))
    other = by not in ("", mpl.__version__)
    before, after = (_plots(place) for place in (folder, again))
    for name in sorted({*before, *after}):
        if before.get(name) == after.get(name):
            continue
        if other and name in before and name in after and name.endswith(".svg"):
            verified.unchecked.add_message(
                "plot.by-another-matplotlib", f"{PLOTS}/{name}: drawn by matplotlib {by}, {mpl.__version__} here"
            )
        elif name not in before and not provenance_check.of_this_code(recorded):
            verified.unchecked.add_message(
                "plot.not-of-its-time",
                f"{PLOTS}/{name}: other code, that of {provenance_check.told_of(recorded)}, drew none",
            )
        else:
            verified.differences.add_message("plot.differs", f"{PLOTS}/{name}: is not what the data give")
    if not other and after:
        drawn = sum(name.endswith(".svg") for name in after)
        verified.notes.add_message("plots.drawn-again", f"{drawn} plots were drawn again")
    if not (folder / PAGE).is_file():
        verified.differences.add_message("file.not-there", f"{PAGE}: is not there")
        return
    there, made = ((place / PAGE).read_text(encoding="utf-8", errors="replace") for place in (folder, again))
    if other:
        there, made = DRAWING.sub("", there), DRAWING.sub("", made)
    provenance_check.compare_words(PAGE, list(text_differences(PAGE, there, made, most=1)), recorded, verified)


def _plots(folder: Path) -> dict[str, bytes]:
    plots = folder / PLOTS
    return {path.relative_to(plots).as_posix(): path.read_bytes() for path in plots.rglob("*") if path.is_file()}
