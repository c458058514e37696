"""``all``: every claim of the sources, by the runs that decide them, to one table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli.options import EngineOption, LinkOption

if TYPE_CHECKING:
    from testbed.claims.judged import Judged


def register(app: typer.Typer) -> None:
    """Add the verbs."""

    @app.command("all")
    def all_(
        quick: Annotated[
            bool, typer.Option("--quick", help="Short runs, one of each; claims may stay open.")
        ] = False,
        engine: EngineOption = "mininet",
        link: LinkOption = "auto",
        only: Annotated[
            list[str] | None,
            typer.Option("--only", metavar="ID", help="Only this claim; may be given again."),
        ] = None,
        resume: Annotated[
            str, typer.Option("--resume", metavar="RUN", help="Go on with one that was stopped; or 'latest'.")
        ] = "",
        dry_run: bool = typer.Option(
            False, "--dry-run", help="Tell runs, claims and minutes, and do nothing."
        ),
    ) -> None:
        """Decide every claim of the sources (published/claims.yaml). The last line is PASS, FAIL or UNTRUSTED."""
        from testbed.claims import all_run
        from testbed.claims.load import load
        from testbed.cli.outcome import EXIT_OF_VERDICT, shown
        from testbed.errors import CannotRun

        claims = load(only=only or ())  # bad input ends here, before anything is set up
        asked = all_run.Asked(engine, quick, tuple(only or ()), resume, link)
        if dry_run:
            all_run.tell(claims, asked)
            raise typer.Exit(0)
        if engine == "mininet" and os.geteuid() != 0:
            raise CannotRun(
                "running needs root, for network namespaces",
                "Try: sudo ./run.sh all, or what virtual time can carry: ./run.sh all --engine sim",
            )
        from testbed.doctor import make_ready
        from testbed.runner.progress import Progress

        progress = Progress()
        make_ready(progress, "table", "docker", engine)
        verdict, found, folder = all_run.run(claims, asked, progress)
        _print(found)
        from testbed.claims.judged import summary_of

        print(f"  {summary_of(found)}")
        print(f"  report      {shown(folder / 'report.html')}")
        print(f"{verdict.upper()} all {folder.name}")
        raise typer.Exit(EXIT_OF_VERDICT[verdict])

    @app.command("reference")
    def reference(
        result: Annotated[
            Path, typer.Argument(metavar="RESULT", help="A result folder of all claims: results/all/latest.")
        ],
        name: Annotated[str, typer.Argument(metavar="NAME", help="The folder's name in reference/.")],
    ) -> None:
        """Keep the small files of a run of all claims in reference/; `report reference/NAME` makes its page of them."""
        from testbed.claims.reference import FOLDER, keep
        from testbed.cli.outcome import shown
        from testbed.errors import BadInput

        if not result.is_dir():
            raise BadInput(f"{result}: there is no such result folder")
        copies = keep(result.resolve(), FOLDER / name)
        size = sum(path.stat().st_size for path in copies)
        print(f"{shown(FOLDER / name)}: {len(copies)} files, {size / 1e6:.1f} MB")


def _print(found: list[Judged]) -> None:
    """The claims table; columns as wide as what is in them, long texts cut."""
    rows = [("claim", "verdict", "published", "expected", "measured", "N")]
    for claim in found:
        word = claim.verdict + ("" if claim.as_known is not False else " (!)")
        if claim.verdict == "fails" and not claim.reproduces:
            word = "fails, as known"
        measured = claim.measured or "–"
        rows.append(
            (
                claim.id,
                word,
                claim.published,
                claim.expected,
                measured,
                "" if claim.n is None else str(claim.n),
            )
        )
    widths = [min(limit, max(len(row[i]) for row in rows)) for i, limit in enumerate((34, 16, 26, 34, 44, 3))]
    for row in rows:
        cells = [_cut(text, width) for text, width in zip(row, widths, strict=True)]
        print(
            "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
        )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
