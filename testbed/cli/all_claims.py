"""``all``: decides every claim of the sources by its run, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli import completion, events, options
from testbed.cli.where import HOSTS, ClusterOption, runs_made
from testbed.errors import BadInput
from testbed.judge.status import Status, verdict_of
from testbed.plan.engines import DEFAULT, ENGINES, SHAKE
from testbed.runtime.progress import Progress

if TYPE_CHECKING:
    from testbed.study.kinds.claims import Request
    from testbed.study.kinds.claims_file import Claims


def all_(
    claim: Annotated[list[str] | None, typer.Argument(metavar="CLAIM", help="Only these claims.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Short runs, one of each; claims may stay open.")] = False,
    repeat: Annotated[
        int | None, typer.Option(min=1, max=99, help="With --quick: runs of each, as for a reference. Else as decides.")
    ] = None,
    engine: options.EnginesOption = "",
    link: options.LinkOption = "auto",
    only: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this claim; may be given again.")] = None,
    resume: options.ResumeOption = "",
    cluster: ClusterOption = "",
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RESULT",
            autocompletion=completion.results,
            help="Put another engine's result, or a reference, beside these; may be given again.",
        ),
    ] = None,
    shake: Annotated[bool, typer.Option("--shake", help="Judge claims around their set-ups, in virtual time.")] = False,
    dry_run: options.DryRunOption = False,
    as_json: events.JsonOption = False,
) -> None:
    """Decide every claim of the sources (data/published/claims.yaml). The last line is PASS, FAIL or UNTRUSTED."""
    from testbed.engines import named
    from testbed.study.kinds import claims as kind
    from testbed.study.kinds import shake as around
    from testbed.study.kinds.claims_file import load

    events.refuse_with(as_json, dry_run)
    only = [*(only or ()), *(claim or ())]
    claims = load(only=only)  # bad input ends here, before anything is set up
    names = options.engines_in(engine or (SHAKE if shake else DEFAULT), "--engine", least=1)
    requests = [kind.Request(name, quick, tuple(only), resume, link, repeat) for name in names]
    if repeat and not quick:
        raise BadInput("claims.repeat-without-quick", "--repeat: goes with --quick; a full run is as long as it takes")
    if resume and len(requests) > 1:
        raise BadInput(
            "claims.resume-needs-one-engine", "--resume: give one engine, and the others' results --beside it"
        )
    if cluster not in ("", HOSTS):
        raise BadInput(
            "claims.cluster-not-alone", f"--cluster {cluster}: should be alone, for the hosts of `cluster up`"
        )
    if shake and (quick or beside):
        raise BadInput("shake.options", "--shake: takes neither --quick nor --beside")
    if shake and (real := next((name for name in names if not ENGINES[name].virtual_time), "")):
        raise BadInput(
            "shake.engine",
            f"--shake: its points are hundreds of runs in virtual time, which --engine {real} has not",
            "Leave --engine out for the simulator, or give sim or vkernel.",
        )
    if dry_run:
        if shake:
            return around.list_runs(claims, names)
        for request in requests:
            kind.list_runs(claims, request)
        return None
    for request in requests:
        named(request.engine).refuse_user("all")
    with runs_made(cluster):
        if shake:
            raise typer.Exit(events.carry_out(as_json, partial(_shake, claims, requests)))
        raise typer.Exit(events.carry_out(as_json, partial(_run, claims, requests, beside or [])))


def reference(
    result: Annotated[
        Path,
        typer.Argument(metavar="RESULT", help="A folder like results/all/latest.", autocompletion=completion.results),
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The folder's name in data/reference/.")],
    lost: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="This claim passed before and does not in RESULT; may be given again."),
    ] = None,
) -> None:
    """Keep the small files of a run, a table or all claims in data/reference/NAME; `report` makes its page."""
    from testbed.cli.outcome import shown
    from testbed.study.kinds.claims import keep_reference, reference_place

    place = reference_place(name)
    if not result.is_dir():
        raise BadInput("result.no-folder", f"{result}: there is no such result folder")
    copies = keep_reference(result.resolve(), place, lost or ())
    size = sum(path.stat().st_size for path in copies)
    print(f"{shown(place)}: {len(copies)} files, {size / 1e6:.1f} MB")


def _shake(claims: Claims, requests: Sequence[Request], progress: Progress) -> int:
    """Judge the claims at points around their set-ups; returns the exit code."""
    from testbed.cli.outcome import shown
    from testbed.study.kinds.shake import run

    document, folder = run(claims, [request.engine for request in requests], requests[0].resume, progress)
    found, verdict = document["claims"], Status(document["verdict"])
    for one in found:
        print(f"  {one['id']:<26} {one['said']}" + (f". {one['status']}: {one['reason']}" if one["reason"] else ""))
    print(f"  {'report':<26} {shown(folder / 'report.html')}")
    summary = f"{len(found)} claims shaken, {len(document['left_out'])} left out"
    print(f"{verdict.upper()} shake {folder.name}: {summary}")
    checks = [{"name": one["id"], "status": one["status"], "outcome": None, "reason": one["said"]} for one in found]
    return events.tell_verdict(progress, {"verdict": verdict, "summary": summary, "checks": checks}, folder)


def _run(claims: Claims, requests: Sequence[Request], beside: Sequence[Path], progress: Progress) -> int:
    """Make the runs of each engine, for one table; returns the exit code."""
    from testbed.cli.outcome import shown
    from testbed.study.checks.claims import changes_since, decided_of, put_beside, read_beside, summary_of, together_of
    from testbed.study.kinds.claims import latest_reference, run
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
        print(f"  {'chance':<13} {together_of(found)}")
        if before := latest_reference(request.engine, quick=request.quick):
            compared = [claim for claim in found if not claim.is_one_real_run or claim.as_reference is not None]
            new, lost = (", ".join(names) or "none" for names in changes_since(before.claims, compared))
            print(f"  {'changes':<13} new: {new}; lost: {lost} (since {shown(before.folder)})")
        print(f"  {'report':<13} {shown(folder / 'report.html')}")
        decided.append((f"{request.engine}: " if len(requests) > 1 else "") + decided_of(found))
    verdict = verdict_of(status for status, *_ in made)
    decided += [f"a selection: only {', '.join(requests[0].only)}"] if requests[0].only else []
    print(f"{verdict.upper()} all {' '.join(folder.name for folder in folders)}: {'; '.join(decided)}")
    checks = [{"name": one.id, "status": one.part, "outcome": one.outcome, "reason": one.reason} for one in found]
    document = {"verdict": verdict, "summary": "; ".join(decided), "checks": checks}
    return events.tell_verdict(progress, document, folders[-1])
