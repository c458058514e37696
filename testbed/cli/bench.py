"""``bench``: what the testbed's own parts are worth, measured beside others'."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from testbed.errors import BadInput, CannotRun, Exit

Measure = Callable[[str, str, dict[str, Path], Callable[[str], None]], bool]
"""Run id, name of the fabric, binaries, how to tell progress; gives whether no target was missed."""


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("bench")
    def bench(
        what: Annotated[
            Literal["links", "ncp", "telemetry", "sim", "overlay"],
            typer.Argument(
                help="What to measure: the emulated links, the protocol's speed, the database's load, "
                "virtual time, or large overlays in it."
            ),
        ],
        quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats.")] = False,
        only: Annotated[
            str, typer.Option("--only", metavar="PART,…", help="links: some of rtt, rate, loss, tcp, scale, setup.")
        ] = "",
    ) -> None:
        """Measure the emulated links beside mahimahi's, rattan's and netem's, where they are installed; or how
        fast two agents carry data over a link without a limit, beside iperf3's TCP; or what 20,000 points/s of
        telemetry do to a transfer. Without root: how fast virtual time is, or overlays of up to 1,000 sessions
        in it.

        Ends with 0 if every target is reached, with 1 if one is missed. links takes up to 12 minutes, a minute
        and a half with --quick; ncp two minutes, or half a minute; telemetry two and a half, or one;
        sim half a minute; overlay six minutes, or half a minute.
        """
        if only and what != "links":
            raise BadInput(f"--only: {only!r}: only bench links has parts; leave it out")
        if what == "links":
            from testbed.bench import links

            parts = [part.strip() for part in only.split(",")] if only else list(links.PARTS)
            for part in parts:
                if part not in links.PARTS:
                    raise BadInput(f"--only: {part!r} is no part of the benchmark; there are {', '.join(links.PARTS)}")
            passed = _measure(
                links.NAME,
                lambda run_id, namespace, binaries, say: links.run(
                    run_id, namespace, binaries["ncp-link"], parts, quick=quick, say=say
                ),
            )
        elif what == "telemetry":
            passed = _telemetry(quick=quick)
        elif what in ("sim", "overlay"):
            passed = _virtual(what, quick=quick)
        else:
            from testbed.bench import ncp

            passed = _measure(
                ncp.NAME, lambda run_id, _, binaries, say: ncp.run(run_id, binaries["ncp-agent"], quick=quick, say=say)
            )
        raise typer.Exit(Exit.PASS if passed else Exit.FAIL)


def _telemetry(*, quick: bool) -> bool:
    """A run of its own, with all that belongs to a run."""
    _needs_root()
    from testbed.bench import telemetry
    from testbed.engines.mininet.engine import ENGINE
    from testbed.runner.progress import Progress

    progress = Progress()
    programs = ENGINE.prepare(progress, "process")
    ENGINE.clear(progress.say)
    return telemetry.run(programs.binaries, programs.policies, progress, quick=quick)


def _virtual(what: str, *, quick: bool) -> bool:
    """A benchmark of the simulator: nothing of the machine is touched."""
    from testbed import paths
    from testbed.bench import overlay, simulator
    from testbed.engines.sim.engine import ENGINE
    from testbed.plan.resolve import new_run_id
    from testbed.runner.progress import Progress

    progress = Progress()
    programs = ENGINE.prepare(progress)
    program = programs.binaries[ENGINE.agent]
    run_id, name = new_run_id(), simulator.NAME if what == "sim" else overlay.NAME
    with progress.step(name.replace("-", " ")) as step:

        def say(text: str) -> None:
            progress.update(step, text)

        if what == "sim":
            passed = simulator.run(run_id, program, programs.policies, quick=quick, say=say)
        else:
            passed = overlay.run(run_id, program, quick=quick, say=say)
    print(f"{'PASS' if passed else 'FAIL'} {name} {run_id}  ({paths.results() / name / run_id / 'bench.md'})")
    return passed


def _needs_root() -> None:
    if os.geteuid() != 0:
        raise CannotRun("the benchmark needs root, for network namespaces", "Try it with sudo.")


def _measure(name: str, measure: Measure) -> bool:
    _needs_root()
    from testbed import paths
    from testbed.engines.mininet.engine import ENGINE
    from testbed.plan.resolve import new_run_id
    from testbed.runner import live
    from testbed.runner.interrupts import interruptible
    from testbed.runner.progress import Progress

    progress = Progress()
    programs = ENGINE.prepare(progress, "process")
    ENGINE.clear(progress.say)
    run_id = new_run_id()
    namespace = f"ncp-{run_id[-4:]}"
    only = live.only_run(run_id, name, namespace)
    with only, interruptible(), progress.step(name.replace("-", " ")) as step:
        passed = measure(run_id, namespace, programs.binaries, lambda text: progress.update(step, text))
    folder = paths.results() / name / run_id
    print(f"{'PASS' if passed else 'FAIL'} {name} {run_id}  ({folder / 'bench.md'})")
    return passed
