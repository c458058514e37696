"""``compare``: groups of runs, engines or repetitions. The last two have verbs of their own, too: ``cross-check`` and
``repeatable``.

Comparisons are imported on use: SciPy alone takes longer than all else that the help needs.
"""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from testbed import confine, paths
from testbed.cli import completion, options
from testbed.cli.outcome import shown
from testbed.cli.where import ClusterOption, runs_made
from testbed.engines.engine import Options
from testbed.errors import BadInput
from testbed.exit_codes import OF_VERDICT
from testbed.judge.status import Status, verdict_of, worst
from testbed.plan.engines import COMPARE
from testbed.results import make_latest
from testbed.runtime.terminal import console


def compare(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GROUP]…",
            autocompletion=completion.names_and_results,
            help="Result folders (several with commas between), NAME:KEY=VALUE,… with --scenario, "
            "or SCENARIO:KEY=VALUE,… The others are compared with the first.",
        ),
    ] = None,
    group: Annotated[list[str] | None, typer.Option(metavar="NAME=FOLDER,…", help="Runs under a name.")] = None,
    scenario: Annotated[str, typer.Option(help="What the versions run.", autocompletion=completion.names)] = "",
    commit: Annotated[
        list[str] | None, typer.Option(metavar="REV", help="A commit's agent; . is the checkout as it is.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", "--repeat", help="Runs of each version.", min=1)] = 10,
    engine: options.EngineOption = COMPARE,
    set_: options.SetOption = [],  # noqa: B006 (typer copies it)
    quick: options.QuickOption = False,
    runtime: options.RuntimeOption = "docker",
    link: options.LinkOption = "auto",
    resume: options.ResumeOption = "",
    cluster: ClusterOption = "",
    figures: Annotated[str, typer.Option(help="What decides, e.g. settled_s,rtt_ms; else goodput or completion.")] = "",
    confidence: Annotated[
        float, typer.Option(help="Level of their intervals together, if figures scatter normally.", min=0.5, max=0.9999)
    ] = 0.95,
) -> None:
    """Did a change help? Runs, policies, kernels or commits side by side.

    Ends with 1 if the figures of --figures (else goodput or completion) are worse or a run failed, 3 if a run can't be
    trusted, else 0. Other figures that got worse are named and don't decide.

    Two forms have options of their own: `compare --engines sim,vkernel [SCENARIO|TABLE]…`: do engines agree?
    `compare --same-bytes SCENARIO…`: is every run the same to the byte? `--help` shows them.
    """
    from testbed.study.kinds import compare
    from testbed.study.kinds.table import TableRequest
    from testbed.study.report import page, text

    requested = TableRequest(seeds, "", "", runtime, link, engine, quick, resume)
    only = [name for name in figures.split(",") if name]
    with runs_made(cluster):
        how = set_, requested, only, confidence
        folder, groups = compare.groups(what or [], group or [], scenario, commit or [], *how)
    command = "./run.sh " + shlex.join(sys.argv[1:])
    found = compare.judge_known(groups, confidence, only, folder.name, command)
    report = page.write_comparison(folder, found)
    make_latest(folder)
    text.print_comparison(found, console(width=120))
    print(f"  report      {shown(report)}", *text.comparison_lines(found), sep="\n")
    raise typer.Exit(OF_VERDICT[worst([Status.PASS, *found.statuses.values()])])


def cross_check(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SCENARIO|TABLE]…",
            help="Scenarios, or tables by name; without any, all scenarios.",
            autocompletion=completion.names,
        ),
    ] = None,
    set_: options.SetOption = [],  # noqa: B006 (typer copies it)
    quick: options.QuickOption = False,
    runtime: options.RuntimeOption = "docker",
    engines: Annotated[
        str, typer.Option(metavar="ENGINE,…", help="The others are compared with the first.")
    ] = "sim,mininet",
    rows: Annotated[str, typer.Option(metavar="ROW,…", help="Only these rows of tables.")] = "",
    columns: Annotated[str, typer.Option(metavar="COLUMN,…", help="Only these columns of tables.")] = "",
    repeat: Annotated[int | None, typer.Option(min=1, max=99, help="Runs of each cell of tables.")] = None,
    results: Annotated[list[str], typer.Option(metavar="ENGINE=FOLDER", help="A result folder instead of a run.")] = [],  # noqa: B006
    resume: options.ResumeOption = "",
    cluster: ClusterOption = "",
) -> None:
    """Run scenarios on each engine: window shares within ±0.03 at every second, goodput within 3%,
    convergence within 10%; of tables, and of other traffic than NCP, all figures within 5%. The last line is
    PASS, FAIL or UNTRUSTED."""
    from testbed.study.kinds import cross_check
    from testbed.study.kinds.table import TableRequest

    chosen = options.engines_in(engines, "--engines", least=2)
    compared = cross_check.Compared(tuple(chosen), tuple(set_), _recorded(results, chosen, names or []))
    requested = TableRequest(repeat, rows, columns, runtime, quick=quick, resume=resume)
    with runs_made(cluster):
        folder, found, refused = cross_check.run(names or [], compared, requested, paths.results() / "cross-check")
    lines = [line for entry in found for line in entry.lines()]
    lines += [f"{entry.verdict:<9} {entry.scenario}" for entry in found]
    lines += [f"{name}: not carried: {why}" for name, why in refused.items()]
    verdict = verdict_of(entry.verdict for entry in found)
    of = [f"{axis} {names}" for axis, names in (("rows", rows), ("columns", columns)) if names]
    about = f" (a selection: {', '.join(of)})" if of else ""
    raise _ended([*lines, f"  report      {folder / 'report.html'}"], verdict, "cross-check", folder, about)


def _ended(lines: list[str], verdict: Status, verb: str, folder: Path, about: str = "") -> typer.Exit:
    print(*lines, f"{verdict.upper()} {verb} {folder.name}{about}", sep="\n")
    return typer.Exit(OF_VERDICT[verdict])


def _recorded(results: list[str], engines: list[str], compared: list[str]) -> dict[str, Path]:
    """The result folders of ``--results`` by engine."""
    found = {}
    for result in results:
        engine, _, folder = result.partition("=")
        if engine not in engines or not Path(folder).is_dir() or len(compared) != 1:
            raise BadInput(
                "compare.bad-results",
                f"--results {result}: should be one of {', '.join(engines)} and a result folder of the one scenario or "
                "table that is compared, like mininet=results/startup/latest",
            )
        found[engine] = Path(folder).resolve()
        confine.refuse_links(found[engine])
    return found


def repeatable(
    scenarios: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO…",
            help="Scenarios, or cells of tables as TABLE/ROW/COLUMN.",
            autocompletion=completion.names,
        ),
    ],
    runs: Annotated[int, typer.Option(min=2, max=99, help="Runs of each with one seed.")] = 10,
    set_: options.SetOption = [],  # noqa: B006 (typer copies it)
    quick: options.QuickOption = False,
    seed: options.SeedOption = None,
    resume: options.ResumeOption = "",
    cluster: ClusterOption = "",
) -> None:
    """Run scenarios in a guest kernel several times: every file of data must be the same each time, byte for
    byte, and another seed must give another run. The last line is PASS or FAIL."""
    from testbed.study.kinds import same_bytes

    loaded = {name: same_bytes.loaded_of(name, set_, quick=quick) for name in scenarios}
    options, base = Options(seed=seed, quick=quick), paths.results() / "repeatable"
    with runs_made(cluster):
        found, folder = same_bytes.run(loaded, options, runs, base, resume)
    lines = [line for repetition in found for line in repetition.lines()]
    verdict = same_bytes.verdict_over(repetition.holds for repetition in found)
    raise _ended([*lines, f"  hashes      {folder / 'hashes.json'}"], verdict, "repeatable", folder)
