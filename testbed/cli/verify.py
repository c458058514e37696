"""``verify``: what a result is worth without the machine that made it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli import completion
from testbed.errors import BadInput
from testbed.exit_codes import Exit
from testbed.runtime.terminal import in_one_line

if TYPE_CHECKING:
    from testbed.study.verify import Verification


def verify(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT…", help="Result folders or bundles.", autocompletion=completion.results),
    ],
    rerun: Annotated[bool, typer.Option("--rerun", help="Repeat runs in virtual time, byte for byte.")] = False,
    trust_code: Annotated[bool, typer.Option("--trust-code", help="Execute Python that results bring.")] = False,
    trust_diff: Annotated[bool, typer.Option("--trust-diff", help="Build and run results' diffs.")] = False,
    signers: Annotated[Path | None, typer.Option(help="Allowed signers of bundles.")] = None,
) -> None:
    """Make everything again that follows from results' raw data, and compare it with what they hold.

    Ends with 0 if everything is confirmed, whatever the verdicts say, with 1 if something differs, and with 3 if
    something could not be checked.
    """
    from testbed.archive.kinds import verify_folders
    from testbed.archive.verify import is_bundle, unpacked, verify_bundle

    folders = [result for result in results if not result.is_file()]
    bundles = [result for result in results if result.is_file()]
    for result in bundles:
        if not is_bundle(result):
            raise BadInput("verify.not-a-result", f"{result}: neither a result folder nor a bundle")
    if signers and folders:
        raise BadInput("verify.signers-of-a-folder", f"--signers: {folders[0]} is a folder; only bundles are signed")
    asked = {"rerun": rerun, "trust_code": trust_code, "trust_diff": trust_diff}
    found = _told(verify_folders(folders, **asked)) if folders else set()
    for bundle in bundles:
        with unpacked(bundle) as place:
            found |= _told(verify_bundle(place, signers=signers, **asked))
    raise typer.Exit(next((code for word, code in CODES.items() if word in found), Exit.PASS))


CODES = {"NOT CONFIRMED": Exit.FAIL, "INCOMPLETE": Exit.INCOMPLETE}
"""Exit codes by the worst word of a last line."""


def _told(results: Sequence[Verification]) -> set[str]:
    """Print what came out; the words of the last lines."""
    for verified in results:
        for word, texts in (
            ("", verified.checks),
            ("differs", verified.differences),
            ("not checked", verified.unchecked),
            ("note", verified.notes),
        ):
            for text in texts:
                print(f"  {word:<11} {in_one_line(text)}" if word else f"  {in_one_line(text)}")
        word, about = verified.word, f" ({'; '.join(verified.scope)})" if verified.scope else ""
        if word == "INCOMPLETE":
            first, *more = (shorten(str(text), 200, placeholder=" …") for text in verified.unchecked)
            others = f" (and {len(more)} more)" if more else ""
            word = f"INCOMPLETE: not checked: {first}{others}; all else is confirmed:"
        print(in_one_line(f"{word} {verified.verdict.upper()} {verified.name}{about}"))
    return {verified.word for verified in results}
