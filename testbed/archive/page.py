"""A result folder's plots and page: written anew, and drawn again beside it and compared."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.archive import provenance_check
from testbed.archive.drawing import unlike
from testbed.archive.markup import foreign
from testbed.judge.verify import text_differences
from testbed.message import Message
from testbed.study import ledger
from testbed.study.verify import Verification

PAGE, GALLERY, PLOTS = "report.html", "gallery.html", "plots"
DRAWING = re.compile(r"<svg.*?</svg>", re.DOTALL)


def write_page(folder: Path) -> Path:
    """Plots and ``report.html`` anew, from the folder's own files; returns the page's path.

    Raises BadInput where a file is missing or broken.
    """
    # What writes the pages of claims takes as long to load as a run's page to be written.
    if (folder / "claims.json").is_file():
        from testbed.study.report.page import write_claims

        return write_claims(folder)
    if (folder / "shake.json").is_file():
        from testbed.study.report.page import write_shake

        return write_shake(folder)
    if ledger.kind_of(folder) == "table" or (folder / "table.json").is_file():
        from testbed.study.kinds.table import unfinished
        from testbed.study.report.page import write_table

        return write_table(folder, unfinished(folder))
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
        if path.name not in (PAGE, GALLERY, PLOTS):
            (place / path.name).symlink_to(path)


def compare(folder: Path, again: Path, verified: Verification, recorded: Mapping[str, Any]) -> None:
    """Plots and page as data and words, and all beside them byte by byte. Other code may say and draw the same in other
    ways, and less: that is not checked. Data at other places, and markup that no page has, are a difference."""
    before, after = (_texts(place) for place in (folder, again))
    for file in sorted({*before, *after}):
        there, made = before.get(file), after.get(file)
        if file == PAGE and there is None:
            verified.differences.add_message("file.not-there", f"{PAGE}: is not there")
        elif there is None and file == GALLERY:
            continue  # earlier code made none, and nothing is in it that is not in the runs
        elif there is None and not provenance_check.of_this_code(recorded):
            verified.unchecked.add_message(
                "plot.not-of-its-time", f"{file}: other code, that of {provenance_check.told_of(recorded)}, drew none"
            )
        elif there is not None and made is not None and file.endswith((".svg", ".html")):
            _compare_text(file, there, made, verified, recorded)
        elif there != made:
            verified.differences.add_message("plot.differs", f"{file}: is not what the data give")
    if drawn := sum(file.endswith(".svg") for file in after):
        verified.notes.add_message("plots.drawn-again", f"{drawn} plots were drawn again")


def _texts(folder: Path) -> dict[str, str]:
    files = [folder / PAGE, folder / GALLERY, *(folder / PLOTS).rglob("*")]
    texts = {path: path.read_bytes().decode(errors="surrogateescape") for path in files if path.is_file()}
    return {path.relative_to(folder).as_posix(): text for path, text in texts.items()}


def _compare_text(file: str, there: str, made: str, verified: Verification, recorded: Mapping[str, Any]) -> None:
    """Compares the drawings in a file, and what is around them."""
    if there != made and (found := foreign(there)):
        verified.differences.add_message("page.markup", f"{file}: no page or plot of this project has {found!r}")
    pairs = zip(DRAWING.findall(there), DRAWING.findall(made), strict=False)
    others = [unlike(*pair) for pair in pairs if pair[0] != pair[1]]
    words: list[Message] = [*text_differences(file, DRAWING.sub("<svg>", there), DRAWING.sub("<svg>", made), most=1)]
    if any(others):
        differs = Message("plot.differs", f"{file}: is not what the data give")
        (verified.differences if any("points" in found for found in others) else words).append(differs)
    elif others and not words:
        verified.notes.add_message("plot.same-points", f"{file}: another matplotlib drew it, of the same points")
    provenance_check.compare_words(file, words, recorded, verified)
