"""``all``: decides every claim of the sources by its run, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli import completion, events
from testbed.cli.options import LinkOption, ResumeOption
from testbed.cli.where import HOSTS, ClusterOption, runs_made
from testbed.errors import BadInput
from testbed.judge.status import verdict_of
from testbed.plan.engines import DEFAULT, ENGINES
from testbed.runtime.progress import Progress

if TYPE_CHECKING:
    from testbed.study.kinds.claims import Request
    from testbed.study.kinds.claims_file import Claims


def all_(
    quick: Annotated[bool, typer.Option("--quick", help="Short runs, one of each; claims may stay open.")] = False,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="ENGINE[,ENGINE]",
            autocompletion=lambda: list(ENGINES),
            help="mininet, sim or vkernel as for a run; results of several are put side by side.",
        ),
    ] = DEFAULT,
    link: LinkOption = "auto",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="Only this claim; may be given again.")
    ] = None,
    resume: ResumeOption = "",
    cluster: ClusterOption = "",
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            "--beside",
            metavar="RESULT",
            autocompletion=completion.results,
            help="Put results of all claims on another engine, or a reference, beside these; may be given again.",
        ),
    ] = None,
    dry_run: bool = typer.Option(False, "--dry-run", help="List runs, claims and minutes, and do nothing."),
    as_json: events.JsonOption = False,
) -> None:
    """Decide every claim of the sources (data/published/claims.yaml). The last line is PASS, FAIL or UNTRUSTED."""
    from testbed.engines import named
    from testbed.study.kinds import claims as kind
    from testbed.study.kinds.claims_file import load

    events.refuse_with(as_json, dry_run)
    claims = load(only=only or ())  # bad input ends here, before anything is set up
    names = engine.split(",")
    if not set(names) <= set(ENGINES) or len(set(names)) != len(names):
        raise BadInput(
            "claims.bad-engines",
            f"--engine {engine}: should be {', '.join(ENGINES)}, or several of them, like mininet,vkernel",
        )
    requests = [kind.Request(name, quick, tuple(only or ()), resume, link) for name in names]
    if resume and len(requests) > 1:
        raise BadInput(
            "claims.resume-needs-one-engine",
            "--resume goes on with one engine's runs",
            "Name it, and put the others' results --beside it.",
        )
    if cluster not in ("", HOSTS):
        raise BadInput(
            "claims.cluster-not-alone",
            f"--cluster {cluster}: all of them go to the hosts of `cluster up`; give --cluster alone",
        )
    if dry_run:
        for request in requests:
            kind.list_runs(claims, request)
        return
    for request in requests:
        named(request.engine).refuse_user("all")
    with runs_made(cluster):
        raise typer.Exit(events.carry_out(as_json, partial(_run, claims, requests, beside or [])))


def reference(
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT", help="A result folder, such as results/all/latest.", autocompletion=completion.results
        ),
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The folder's name in data/reference/.")],
) -> None:
    """Keep the small files of a run, a table or all claims in data/reference/NAME; `report` makes its page."""
    from testbed.cli.outcome import shown
    from testbed.study.kinds.claims import keep_reference, reference_place

    place = reference_place(name)
    if not result.is_dir():
        raise BadInput("result.no-folder", f"{result}: there is no such result folder")
    copies = keep_reference(result.resolve(), place)
    size = sum(path.stat().st_size for path in copies)
    print(f"{shown(place)}: {len(copies)} files, {size / 1e6:.1f} MB")


def _run(claims: Claims, requests: Sequence[Request], beside: Sequence[Path], progress: Progress) -> int:
    """Make the runs of each engine, for one table; returns the exit code."""
    from testbed.cli.outcome import shown
    from testbed.exit_codes import OF_VERDICT
    from testbed.study.checks.claims import FalseAlarms, decided_of, put_beside, read_beside, summary_of
    from testbed.study.kinds.claims import run
    from testbed.study.report.page import write_claims
    from testbed.study.report.text import claims_lines

    for request in requests:
        read_beside(beside, request.engine)  # bad input ends here, before anything is run
    made = [run(claims, request, progress) for request in requests]
    folders = [folder for *_, folder in made]
    decided = []
    for request, (_, found, folder) in zip(requests, made, strict=True):
        if others := [*beside, *(other for other in folders if other != folder)]:
            found = put_beside(folder, others)
            write_claims(folder)
        if folder == folders[-1]:
            print("\n".join(claims_lines(found, request.engine)))
        print(f"  {ENGINES[request.engine].title:<13} {summary_of(found)}")
        print(f"  {'chance':<13} {FalseAlarms.of(found).text}")
        print(f"  {'report':<13} {shown(folder / 'report.html')}")
        decided.append((f"{request.engine}: " if len(requests) > 1 else "") + decided_of(found))
    verdict = verdict_of(status for status, *_ in made)
    print(f"{verdict.upper()} all {' '.join(folder.name for folder in folders)}: {'; '.join(decided)}")
    code = OF_VERDICT[verdict]
    checks = [{"name": one.id, "status": one.part, "outcome": one.outcome, "reason": one.reason} for one in found]
    document = {"verdict": verdict, "summary": "; ".join(decided), "checks": checks}
    events.tell_verdict(progress, document, folders[-1], code)
    return code
