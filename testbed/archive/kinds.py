"""The kinds of result folders, and how each is judged again."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, cast

from testbed import confine
from testbed.archive import origin, page, provenance_check
from testbed.archive.rederive import prepare, verify_run
from testbed.archive.strays import strays
from testbed.errors import BadInput, TestbedError
from testbed.judge.history import provenance_of
from testbed.judge.status import Status
from testbed.judge.verify import Difference, read_verdict
from testbed.message import Message, Messages
from testbed.results.report import style
from testbed.runtime.progress import Progress
from testbed.study import ledger
from testbed.study import verify as study
from testbed.study.pool import side_by_side
from testbed.study.record import run_that_counts
from testbed.study.verify import Verification, VerifyRequest

Kind = Literal["run", "table", "sweep", "comparison", "cross-check", "repetitions", "claims"]
Runs = Mapping[Path, Verification]
"""The single runs in result folders, judged again."""

PAPER = "paper"
"""Folder of plots for a paper."""


def kind_of(folder: Path) -> Kind:
    """The kind by the files that it has; BadInput where it has none."""
    if not folder.is_dir():
        raise BadInput("result.no-folder", f"{folder}: there is no such result folder")
    if (kind := ledger.kind_of(folder)) in study.MODULES:
        return cast("Kind", kind)
    if (folder / "plan.json").is_file():
        return "run"
    names = ", ".join((ledger.STUDY, "plan.json", *ledger.OLD_MARKS))
    raise BadInput("result.not-a-result", f"{folder}: is not a result folder: it has none of {names}")


def runs_in(folder: Path) -> Iterator[Path]:
    """The folders of single runs in a result folder, itself included, in the order of their names: all that has a plan,
    or that a study would read as a cell's run."""
    for run in sorted({path.parent for name in ("plan.json", "cells/**/verdict.json") for path in folder.rglob(name)}):
        if run == folder or not run.is_symlink():
            yield run


def verify_folders(folders: Sequence[Path], *, rerun: bool = False, **trusted: bool) -> list[Verification]:
    """Verify each result, its runs in parallel on the machine's cores; ``rerun``: runs in virtual time are repeated.
    What is ``trusted`` is as :func:`testbed.confine.to` has it.

    Raises BadInput where a file is missing or broken, and where a link leads out of a folder.
    """
    with confine.to_results(*folders, **trusted):
        for folder in folders:
            kind_of(folder)  # bad input ends here
        every = list(dict.fromkeys(run for folder in folders for run in runs_in(folder)))
        runs = [run for run in every if not ((run / "verdict.json").is_file() and read_verdict(run).broken)]
        if rerun:
            prepare(runs, Progress())
        found: dict[Path, Verification] = {}
        width = len(os.sched_getaffinity(0)) if rerun or len(runs) > FEW else 1
        size = 1 if rerun else max(1, -(-len(runs) // (SHARES * width)))
        shares = [runs[begin : begin + size] for begin in range(0, len(runs), size)]
        for share, judged in side_by_side(shares, partial(_each, rerun=rerun, trusted=trusted), width=width):
            found.update(zip(share, judged, strict=True))
        together = [_verified(folder, found, rerun) for folder in folders]
    for folder, verified in zip(folders, together, strict=True):
        for name in strays(folder):
            verified.notes.add_message("verify.stray-file", f"{name}: no step makes it; nothing of it was checked")
    return together


FEW = 3
"""Number of runs that are judged sooner than processes for them are started."""
SHARES = 4
"""Runs of a share, for each core. Each process asks Go for the policies, git for the commit and the like, a fifth of a
second beside the half that a run takes. With few shares one core waits for the other in the end."""


def _each(runs: Sequence[Path], *, rerun: bool, trusted: Mapping[str, bool]) -> list[Verification]:
    """Runs, one after the other; maybe in another process than the one that reads the rest of the result."""
    return [_one(run, rerun=rerun, **trusted) for run in runs]


def _one(run: Path, *, rerun: bool, **trusted: bool) -> Verification:
    """A run; that a file of it is missing or broken is a difference."""
    try:
        with confine.to(run, **trusted):
            verified = verify_run(run, rerun=rerun)
    except BadInput as error:
        return Verification(run.name, Status.FAIL, Messages([error.said]), unreadable=True)
    return _of_its_time(verified, run)


def _of_its_time(verified: Verification, folder: Path) -> Verification:
    """Differences of a result that may be older than the checkout: other words, or further entries, are no difference
    then, and unchecked. Numbers, statuses and verdicts are."""
    if provenance_check.of_this_code(_provenance(folder)):
        return verified
    differing = verified.differences
    said = [one for one in differing if isinstance(one, Difference) and (one.is_wording or one.is_new)]
    if said:
        verified.unchecked.add_message(
            "verify.of-its-time",
            f"{len(said)} texts or entries are not as this checkout would write them, e.g. {said[0]!s:.200}",
        )
    return replace(verified, differences=Messages(one for one in differing if one not in said))


def _provenance(folder: Path) -> dict[str, object]:
    """The provenance of a result folder, or of the first run in it."""
    runs = (provenance_of(run) for run in runs_in(folder))
    return provenance_of(folder) or next((one for one in runs if one), {})


def _verified(folder: Path, runs: Runs, rerun: bool) -> Verification:
    if kind_of(folder) != "run":
        return _study(folder, runs, rerun)
    if folder not in runs:
        broken = read_verdict(folder).broken
        raise BadInput("verify.no-verdict", f"{folder}: there is no verdict to verify: the run broke down: {broken}")
    if runs[folder].unreadable:
        raise BadInput.of(runs[folder].differences[0])
    return runs[folder]


def _take_runs(verified: Verification, folder: Path, runs: Runs) -> None:
    """Verifications of the single runs in a folder; it may keep none."""
    there, notes, is_table = list(runs_in(folder)), verified.notes, kind_of(folder) == "table"
    again = [run for run in there if run in runs]
    for run in again:
        found = runs[run]
        if is_table and provenance_check.is_cell(run):  # its scenario is compared with the table
            found = replace(
                found,
                differences=Messages(one for one in found.differences if one.code not in origin.OF_A_SCENARIO),
                unchecked=Messages(one for one in found.unchecked if one.code not in origin.OF_A_SCENARIO),
                scope=[],
            )
        verified.take(found, str(run.relative_to(folder)))
    if there:
        notes.add_message("verify.runs-judged-again", f"{len(again)} runs were judged again, all else from them")
    for run in there:
        if run not in runs and run_that_counts(run.parent) in (run, None):
            verified.unchecked.append(_broke_down(str(run.relative_to(folder))))
    if same := sum(any(note.code == "rerun.same-bytes" for note in runs[run].notes) for run in again):
        notes.add_message("verify.runs-made-again", f"{same} runs were repeated: their data are the same bytes")


def _broke_down(name: str) -> Message:
    """Message that nothing of a run can be judged again, by which something in its study is judged."""
    return Message("verify.run-broke-down", f"{name}: broke down, as it says: there is nothing to judge again")


def _study(folder: Path, runs: Runs, rerun: bool) -> Verification:
    """Whatever is made of runs: all that comes of them, the page, and the runs or studies in it."""
    recorded = _provenance(folder)
    with tempfile.TemporaryDirectory(prefix="ncp-verify-") as place:
        into = Path(place, folder.resolve().name)
        programs = partial(provenance_check.programs_of, folder)
        verified = study.verify(VerifyRequest(folder, into, rerun, provenance_check.of_this_code(recorded), programs))
        if verified.parts is None:
            _take_runs(verified, folder, runs)
        else:
            _take_studies(verified, verified.parts, runs, rerun)
        if kind_of(folder) == "table":
            origin.check_table(folder, recorded, verified)
        elif kind_of(folder) == "sweep":
            origin.check_sweep(folder, recorded, verified)
        if verified.has_page and (into / page.PAGE).is_file():
            page.compare(folder, into, verified, recorded)
        elif verified.has_page:
            page.check(folder, verified, recorded, needed=True)
    return _of_its_time(verified, folder)


def _take_studies(verified: Verification, parts: Sequence[tuple[str, Path]], runs: Runs, rerun: bool) -> None:
    """Verifications of the studies, and single runs, in a study."""
    for name, part in parts:
        if kind_of(part) == "run" and part not in runs:
            verified.unchecked.append(_broke_down(name))
            continue
        try:
            found = _verified(part, runs, rerun)
            verified.take(replace(found, scope=[f"{name}: {note}" for note in found.scope]), name)
        except TestbedError as error:
            verified.differences.append(error.said.at(name))
    verified.notes.add_message(
        "verify.parts-judged-again", f"{len(parts)} runs, tables and sweeps were judged again, and all else from them"
    )


def drawn_again(folder: Path, place: Path) -> None:
    """The page and plots of a folder in ``place``, from the folder's own data.

    Raises BadInput where a file is missing or broken.
    """
    with confine.to_results(folder):
        if any((folder / name).is_file() for name in ("plan.json", "table.json", "claims.json")):
            page.beside(folder, place)
            page.write_page(place)
        else:
            study.draw(folder, place)


def export_for_paper(folder: Path) -> list[Path]:
    """Draw a result folder's plots as a paper prints them, as wide as a column: ``paper/<plot>.pdf``, and the points of
    each as CSV. Returns their paths, none where the folder has no plot."""
    with tempfile.TemporaryDirectory(prefix="ncp-paper-") as place, style.for_paper():
        again = Path(place, folder.resolve().name)
        drawn_again(folder, again)
        made = sorted(path for path in (again / page.PLOTS).glob("*") if path.suffix in (".pdf", ".csv"))
        if made:
            (folder / PAPER).mkdir(exist_ok=True)
        return [Path(shutil.copyfile(path, folder / PAPER / path.name)) for path in made]
