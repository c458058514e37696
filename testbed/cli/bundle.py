"""``bundle``: results with everything that is needed to check them, in one file."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from testbed import confine, paths
from testbed.cli.options import ResultFolders


def bundle(
    folders: ResultFolders,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file; else in results/bundles/.")] = None,
    sign: Annotated[Path | None, typer.Option(metavar="KEY", help="Sign it with this SSH key.")] = None,
) -> None:
    """Pack results into one file, with everything needed to check them elsewhere."""
    from testbed.archive.kinds import kind_of
    from testbed.archive.pack import pack
    from testbed.cli.outcome import shown

    for folder in folders:
        confine.refuse_links(folder)
        kind_of(folder)  # bad input ends here, before anything is made
    first = folders[0].resolve()
    more = f"-and-{len(folders) - 1}-more" if len(folders) > 1 else ""
    file = output or paths.results() / "bundles" / f"{first.parent.name}-{first.name}{more}.zip"
    if output is None:
        file.parent.mkdir(parents=True, exist_ok=True)
    description = pack(folders, file, sign)
    for run in description["runs"]:
        print(f"  {run['kind']:<11} {run['name']}: {run['verdict']}")
    print(f"{shown(file.resolve())}, {file.stat().st_size / 2**20:.1f} MiB")
    print(f"To check it, in any checkout: ./run.sh verify {shlex.quote(file.name)}")
