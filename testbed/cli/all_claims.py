"""``all``: every claim of the sources, by the runs that decide them, to one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli import events
from testbed.cli.options import LinkOption, ResumeOption
from testbed.cli.where import HOSTS, ClusterOption, runs_made
from testbed.errors import BadInput
from testbed.judge.status import Status, verdict_of
from testbed.plan.default_engine import DEFAULT
from testbed.plan.engines import ENGINES
from testbed.runtime.progress import Progress

if TYPE_CHECKING:
    from testbed.study.claims.all_run import Asked
    from testbed.study.claims.judged import Judged
    from testbed.study.claims.model import Claims


def register(app: typer.Typer) -> None:
    """Add the verbs."""

    @app.command("all")
    def all_(
        quick: Annotated[bool, typer.Option("--quick", help="Short runs, one of each; claims may stay open.")] = False,
        engine: Annotated[
            str,
            typer.Option(
                "--engine",
                metavar="ENGINE[,ENGINE]",
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
                help="Put results of all claims on another engine, or a reference, beside these; may be given again.",
            ),
        ] = None,
        dry_run: bool = typer.Option(False, "--dry-run", help="List runs, claims and minutes, and do nothing."),
        as_json: events.JsonOption = False,
    ) -> None:
        """Decide every claim of the sources (data/published/claims.yaml). The last line is PASS, FAIL or UNTRUSTED."""
        from testbed.engines import named
        from testbed.study.claims import all_run
        from testbed.study.claims.load import load

        events.refuse_with(as_json, dry_run)
        claims = load(only=only or ())  # bad input ends here, before anything is set up
        engines = _engines(engine)
        if resume and len(engines) > 1:
            raise BadInput(
                "claims.resume-needs-one-engine",
                "--resume goes on with one engine's runs",
                "Name it, and put the others' results --beside it.",
            )
        if cluster not in ("", HOSTS):
            raise BadInput(
                "claims.cluster-not-alone",
                "--cluster {cluster}: all of them go to the hosts of `cluster up`; give --cluster alone",
                cluster=cluster,
            )
        asked = [all_run.Asked(one, quick, tuple(only or ()), resume, link, bool(cluster)) for one in engines]
        if dry_run:
            for one in asked:
                all_run.tell(claims, one)
            raise typer.Exit(0)
        for one in asked:
            named(one.engine).refuse_user("all")
        with runs_made(cluster):
            if as_json:
                raise typer.Exit(events.in_events(lambda progress: _run(claims, asked, beside or [], progress)))
            raise typer.Exit(_run(claims, asked, beside or [], Progress()))

    @app.command("reference")
    def reference(
        result: Annotated[Path, typer.Argument(metavar="RESULT", help="A result folder, such as results/all/latest.")],
        name: Annotated[str, typer.Argument(metavar="NAME", help="The folder's name in data/reference/.")],
    ) -> None:
        """Keep the small files of a run, a table or all claims in data/reference/NAME; `report` makes its page."""
        from testbed.cli.outcome import shown
        from testbed.study.claims.reference import keep, place_of

        place = place_of(name)
        if not result.is_dir():
            raise BadInput("result.no-folder", "{folder}: there is no such result folder", folder=result)
        copies = keep(result.resolve(), place)
        size = sum(path.stat().st_size for path in copies)
        print(f"{shown(place)}: {len(copies)} files, {size / 1e6:.1f} MB")


def _engines(text: str) -> list[str]:

    found = [name for name in text.split(",") if name in ENGINES]
    if len(found) != len(text.split(",")) or len(set(found)) != len(found):
        raise BadInput(
            "claims.bad-engines",
            "--engine {text}: should be {engines}, or several of them, like mininet,vkernel",
            text=text,
            engines=", ".join(ENGINES),
        )
    return found


def _run(claims: Claims, asked: Sequence[Asked], beside: Sequence[Path], progress: Progress) -> int:
    """The runs of each engine, to one table; returns the exit code."""
    from testbed.cli.outcome import shown
    from testbed.engines.events import EventProgress
    from testbed.exit_codes import OF_VERDICT
    from testbed.study.claims import all_run
    from testbed.study.claims import beside as sides
    from testbed.study.claims.false_alarms import FalseAlarms
    from testbed.study.claims.judged import decided_of, summary_of
    from testbed.study.claims.report import write_report

    given = [sides.Result.read(folder) for folder in beside]
    for one in asked:
        sides.check(one.engine, given)
    words: list[Status] = []
    folders = []
    for one in asked:
        word, _, folder = all_run.run(claims, one, progress)
        words.append(word)
        folders.append(folder)
    for folder in folders if given or len(folders) > 1 else ():
        others = [sides.Result.read(other) for other in folders if other != folder]
        sides.put(folder, [*given, *others])
        write_report(folder)
    for one, folder in zip(asked, folders, strict=True):
        found = list(sides.Result.read(folder).claims.values())
        if folder == folders[-1]:
            _print(found, one.engine)
        print(f"  {sides.TITLES[one.engine]:<13} {summary_of(found)}")
        print(f"  {'chance':<13} {FalseAlarms.of(found).text}")
        print(f"  {'report':<13} {shown(folder / 'report.html')}")
    verdict = verdict_of(words)
    decided = "; ".join(
        (f"{one.engine}: " if len(asked) > 1 else "") + decided_of(list(sides.Result.read(folder).claims.values()))
        for one, folder in zip(asked, folders, strict=True)
    )
    print(f"{verdict.upper()} all {' '.join(folder.name for folder in folders)}: {decided}")
    code = OF_VERDICT[verdict]
    if isinstance(progress, EventProgress):
        checks = [
            {"name": claim.id, "status": claim.part, "outcome": claim.outcome, "reason": claim.reason}
            for claim in found
        ]
        events.tell_verdict(progress, verdict, decided, checks, folders[-1], int(code))
    return code


def _print(found: Sequence[Judged], engine: str) -> None:
    """The claims table, with what other engines measured before what ``engine`` did; columns as wide as what is in
    them, long texts cut."""
    from testbed.study.claims.beside import MODELS, TITLES

    others = list(dict.fromkeys(other for claim in found for other in claim.beside))
    head, limits = ["claim", "published", "expected"], [34, 26, 34]
    for other in others:
        head += [TITLES[other], "verdict"]
        limits += [30, 16]
    head += [TITLES[engine] if others else "measured", "N", "verdict"]
    limits += [30 if others else 44, 7, 21]
    head += [f"from {TITLES[other]}" for other in others]
    limits += [28 for _ in others]
    rows = [head]
    for claim in found:
        row = [claim.id, claim.published, claim.expected]
        for other in others:
            there = claim.beside.get(other, {})
            row += [there.get("measured") or "–", there.get("verdict", "")]
        word = claim.verdict + ("" if claim.as_known is not False else " (!)")
        if claim.counted_as in ("xfail", "xpass"):
            word = f"{claim.verdict} ({claim.counted_as})"
        if claim.is_measured:
            word = "measured"
        row += [claim.measured or "–", claim.n_told, word]
        row += [claim.beside.get(other, {}).get("difference", "") for other in others]
        rows.append(row)
    widths = [min(limit, max(len(row[i]) for row in rows)) for i, limit in enumerate(limits)]
    for row in rows:
        cells = [f"{_cut(text, width):<{width}}" for text, width in zip(row, widths, strict=True)]
        print("  " + "  ".join(cells).rstrip())
    if others or engine != DEFAULT:
        for name in (*others, engine):
            print(f"  {TITLES[name]}: {MODELS[name]}")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
