"""``verify``: what a result is worth without the machine that made it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.errors import BadInput, Exit

if TYPE_CHECKING:
    from testbed.bundle.kinds import Verified

ResultFolders = Annotated[
    list[Path], typer.Argument(metavar="RESULT…", help="Result folders, e.g. results/startup/latest.")
]


def register(app: typer.Typer) -> None:
    """Add the verbs."""

    @app.command("verify")
    def verify(
        results: Annotated[
            list[Path],
            typer.Argument(
                metavar="RESULT…", help="Result folders, e.g. results/startup/latest, or bundles."
            ),
        ],
    ) -> None:
        """Judge results again from their raw data and compare with their verdicts.

        Ends with 0 when every verdict is confirmed, whatever it says, and with 1 when one is not.
        """
        from testbed.bundle.kinds import verify_folder
        from testbed.bundle.verify import is_bundle, unpacked, verify_bundle

        code = Exit.PASS
        for result in results:
            if is_bundle(result):
                with unpacked(result) as place:
                    found = verify_bundle(place)
            elif result.is_file():
                raise BadInput(f"{result}: neither a result folder nor a bundle")
            else:
                found = [verify_folder(result)]
            if _tell(found):
                code = Exit.FAIL
        raise typer.Exit(code)


def _tell(found: Sequence[Verified]) -> bool:
    """Print what came out; whether anything differs."""
    differs = False
    for verified in found:
        for check in verified.checks:
            print(f"  {check}")
        for difference in verified.differences:
            print(f"  differs     {difference}")
        for note in verified.notes:
            print(f"  note        {note}")
        word = "NOT CONFIRMED" if verified.differences else "CONFIRMED"
        print(f"{word} {verified.verdict.upper()} {verified.name}")
        differs = differs or bool(verified.differences)
    return differs
