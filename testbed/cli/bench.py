"""``bench``: what the testbed's own parts are worth, measured beside others'."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from testbed.errors import BadInput, CannotRun, Exit


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("bench")
    def bench(
        what: Annotated[Literal["links"], typer.Argument(help="What to measure.")],
        quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats: a minute and a half.")] = False,
        only: Annotated[
            str, typer.Option("--only", metavar="PART,…", help="Some of rtt, rate, loss, tcp, scale, setup.")
        ] = "",
    ) -> None:
        """Measure the emulated links beside mahimahi's, rattan's and netem's, where they are installed.

        Ends with 0 if every target is reached, with 1 if one is missed. Takes up to 12 minutes.
        """
        del what  # the only one so far; typer refuses others
        from testbed.bench.links import PARTS

        parts = [part.strip() for part in only.split(",")] if only else list(PARTS)
        for part in parts:
            if part not in PARTS:
                raise BadInput(f"--only: {part!r} is no part of the benchmark; there are {', '.join(PARTS)}")
        raise typer.Exit(Exit.PASS if _links(parts, quick=quick) else Exit.FAIL)


def _links(parts: list[str], *, quick: bool) -> bool:
    if os.geteuid() != 0:
        raise CannotRun("the benchmark needs root, for network namespaces", "Try: sudo ./run.sh bench links")
    from testbed import build, paths
    from testbed.bench import links
    from testbed.cli.leftovers import remove_leftovers
    from testbed.doctor import make_ready
    from testbed.plan.resolve import new_run_id
    from testbed.runner import live
    from testbed.runner.interrupts import interruptible
    from testbed.runner.progress import Progress

    progress = Progress()
    make_ready(progress, "bench", "process")
    with progress.step("build"):
        binary = build.build_programs()["ncp-link"]
    remove_leftovers(progress.say)
    run_id = new_run_id()
    namespace = f"ncp-{run_id[-4:]}"
    only = live.only_run(run_id, links.NAME, namespace)
    with only, interruptible(), progress.step("bench links") as step:
        passed = links.run(
            run_id, namespace, binary, parts, quick=quick, say=lambda text: progress.update(step, text)
        )
    folder = paths.results() / links.NAME / run_id
    print(f"{'PASS' if passed else 'FAIL'} {links.NAME} {run_id}  ({folder / 'bench.md'})")
    return passed
