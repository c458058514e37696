"""Makes one run of a study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.documents import read_json, write_json
from testbed.engines import Programs, Run, provenance
from testbed.engines.judging import write_broken
from testbed.errors import CannotRun, RunFailed, TestbedError, Unsupported
from testbed.runtime.interrupts import Interrupted
from testbed.runtime.progress import Progress, Step
from testbed.study.attempts import when_free
from testbed.study.programs import OfCommit


def carry_out(run: Run, progress: Progress) -> None:
    """To its verdict; that of a run that broke down says why. Waits while another run has the machine.

    Raises:
        CannotRun: this machine can't make such runs at all.
        TestbedError: it broke down and left no verdict.
    """
    waiting = Step("waiting")
    try:
        when_free(run.execute, lambda name: progress.update(waiting, name))
    except TestbedError as error:
        of_the_machine = isinstance(error, CannotRun) and not isinstance(error, Unsupported)
        if isinstance(error, Interrupted) or of_the_machine or not (run.folder / "verdict.json").exists():
            raise


def carry_out_without_pages(run: Run, facts: Mapping[str, Any]) -> None:
    """In virtual time, to the verdict, without plots, page and database: of runs that are many. ``facts`` are what
    provenance says of machine and code."""
    document = {**facts, "run": provenance.of_plan(run.plan)}
    try:
        run.without_database(None)
        document["simulation"] = read_json(run.folder / "sim.json")
    except RunFailed as error:
        write_broken(run.plan, run.folder, None, error, [])
    document["run"] |= provenance.of_program(run.folder)
    write_json(run.folder / "provenance.json", document)


def note_code(run: Path, programs: Programs) -> None:
    """Let a run's provenance name the commit that its end points were built from, where that is not the checkout's."""
    file = run / "provenance.json"
    if isinstance(programs, OfCommit) and file.is_file():
        write_json(file, {**read_json(file), "commit": programs.commit, "of_commit": True})
