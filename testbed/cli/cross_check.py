"""``cross-check``: scenarios on several engines, side by side: the simulator, a guest kernel, real packets."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from testbed.cli.options import QuickOption, RuntimeOption
from testbed.errors import BadInput, CannotRun, RunFailed

if TYPE_CHECKING:
    from testbed.crosscheck.result import Compared
    from testbed.runner.progress import Progress
    from testbed.scenario.load import LoadedScenario
    from testbed.simulator.virtual_run import VirtualRun

WORDS = {"sim": "virtual time", "vkernel": "guest kernel", "mininet": "real packets"}
"""The engines, as the page calls them."""


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("cross-check")
    def cross_check(
        scenarios: Annotated[
            list[str] | None, typer.Argument(metavar="[SCENARIO]…", help="All of scenarios/ without one.")
        ] = None,
        quick: QuickOption = False,
        runtime: RuntimeOption = "docker",
        engines: Annotated[
            str,
            typer.Option(
                "--engines", metavar="ENGINE,…", help="Which: the first is what others are held to."
            ),
        ] = "sim,mininet",
    ) -> None:
        """Run scenarios on each engine: window shares within ±0.03 at every second, goodput within 3%,
        convergence within 10%. The last line is PASS, FAIL or UNTRUSTED."""
        from testbed import paths
        from testbed.cli.outcome import EXIT_OF_VERDICT
        from testbed.crosscheck import result
        from testbed.plan.resolve import new_run_id
        from testbed.runner.progress import Progress
        from testbed.scenario.load import available, load

        chosen = _engines(engines)
        loaded = [load(name, [], quick=quick) for name in scenarios or [str(p) for p in available()]]
        progress = Progress()
        compared: list[Compared] = []
        refused: dict[str, str] = {}
        for one in loaded:
            try:
                virtual = {name: _prepare(name, one, progress, quick) for name in chosen if name != "mininet"}
            except CannotRun as error:
                if scenarios:
                    raise
                refused[one.scenario.name] = error.message
                continue
            # What this machine can't run is no refusal: it ends the cross-check.
            compared.append(_compare(one, chosen, virtual, progress, runtime, quick=quick))
        if not compared:
            raise CannotRun("these engines carry none of the scenarios, so there is nothing to compare")
        run = new_run_id()
        folder = paths.results() / "cross-check" / run
        page = result.write(folder, compared, refused)
        for entry in compared:
            print(f"{entry.scenario}: {entry.verdict}")
            for difference in entry.differences:
                print(f"  {'same' if difference.same else 'differs':<11} {difference.text}")
        for name, why in refused.items():
            print(f"{name}: not carried: {why}")
        word = result.verdict_of(compared)
        print(f"  report      {page}")
        print(f"{word.upper()} cross-check {run}")
        raise typer.Exit(EXIT_OF_VERDICT[word])


def _engines(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in WORDS]
    if unknown or len(names) < 2 or len(set(names)) < len(names):
        raise BadInput(f"--engines {text}: should be two or more of {', '.join(WORDS)}, like sim,vkernel")
    return names


def _prepare(engine: str, loaded: LoadedScenario, progress: Progress, quick: bool) -> VirtualRun:
    from testbed.cli import simulate, vkernel

    if engine == "sim":
        return simulate.prepare(loaded, progress, seed=None, quick=quick)
    return vkernel.prepare(loaded, progress, seed=None, quick=quick)


def _compare(
    loaded: LoadedScenario,
    engines: Sequence[str],
    virtual: Mapping[str, VirtualRun],
    progress: Progress,
    runtime: Literal["docker", "process"],
    *,
    quick: bool,
) -> Compared:
    from testbed import paths
    from testbed.checks.verify import read_verdict
    from testbed.cli.run import Asked, run_scenario
    from testbed.crosscheck.compare import compare
    from testbed.crosscheck.plot import share_plot
    from testbed.crosscheck.result import Compared
    from testbed.report.folder import read_folder

    runs, evidence, reasons = {}, {}, []
    for engine in engines:
        if run := virtual.get(engine):
            progress.say(f"{loaded.scenario.name}: {WORDS[engine]}")
            run.execute()
            folder = run.folder
        else:
            run_scenario(loaded, Asked(runtime, "auto", None, quick))
            folder = (paths.results() / loaded.scenario.name / "latest").resolve()
        word = WORDS[engine]
        found, verdict = read_folder(folder).evidence, read_verdict(folder)
        if found is None or verdict.broken:
            raise RunFailed(f"{loaded.scenario.name} with {word} broke down: {verdict.summary}")
        runs[word], evidence[word] = folder, found
        reasons += verdict.trust.reasons
    (first, baseline), *others = evidence.items()
    differences = []
    for word, found in others:
        against = f" ({first} and {word})" if len(others) > 1 else ""
        differences += [dataclasses.replace(d, text=d.text + against) for d in compare(baseline, found)]
    sessions = baseline.plan["sessions"]
    plots = [share_plot(s, evidence) for s in sessions if len(s["connections"]) > 1]
    return Compared(loaded.scenario.name, loaded.scenario.title, runs, differences, plots, reasons)
