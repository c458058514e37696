"""``verify``: judges a result folder again, from the folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from testbed.errors import BadInput, Exit

ResultFolders = Annotated[
    list[Path], typer.Argument(metavar="RESULT…", help="Result folders, e.g. results/startup/latest.")
]


def register(app: typer.Typer) -> None:
    """Add the verbs."""

    @app.command("verify")
    def verify(
        folders: ResultFolders,
    ) -> None:
        """Judge result folders again from their raw data and compare with their verdicts.

        Ends with 0 when every verdict is confirmed, whatever it says, and with 1 when one is not.
        """
        from testbed.checks.verify import verify as judge_again

        code = Exit.PASS
        for folder in folders:
            if not folder.is_dir():
                raise BadInput(f"{folder}: there is no such result folder")
            verdict, differences = judge_again(folder)
            for check in verdict.checks:
                print(f"  {check.status:<11} {check.name}: {check.reason}")
            for difference in differences:
                print(f"  differs     {difference}")
            word = "NOT CONFIRMED" if differences else "CONFIRMED"
            print(f"{word} {verdict.verdict.upper()} {verdict.scenario} {verdict.run}")
            if differences:
                code = Exit.FAIL
        raise typer.Exit(code)

    @app.command("report")
    def report(
        folders: ResultFolders,
    ) -> None:
        """Write plots and report.html of result folders anew, without running anything."""
        from testbed.report import write_report

        for folder in folders:
            if not folder.is_dir():
                raise BadInput(f"{folder}: there is no such result folder")
            print(write_report(folder))
