"""``compare``: groups of runs, engines or repetitions side by side. The last two are verbs of their own, too, as they
were before there was one: ``cross-check`` and ``repeatable``.

What compares is imported when it is asked for: SciPy alone takes longer than all else that the help needs.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from testbed import confine, engines, paths
from testbed.cli.options import EngineOption, LinkOption, QuickOption, RuntimeOption, SeedOption, SetOption
from testbed.cli.outcome import shown
from testbed.cli.where import ClusterOption, runs_made
from testbed.engines import Options
from testbed.errors import BadInput, CannotRun
from testbed.exit_codes import OF_VERDICT, Exit
from testbed.judge.status import Status
from testbed.plan import default_engine
from testbed.plan.engines import ENGINES
from testbed.planning.resolve import new_run_id
from testbed.results.folder import make_latest
from testbed.runtime.progress import Progress
from testbed.scenario.files import scenarios
from testbed.study.cell import ready

if TYPE_CHECKING:
    from testbed.study.compare.agreement import Agreement
    from testbed.study.compare.groups import Group, Variant
    from testbed.study.compare.versions import Asked


def register(app: typer.Typer) -> None:
    """Add the verb, and the names that two of its forms had."""
    app.command("compare")(compare_groups)
    app.command("cross-check", hidden=True)(compare_engines)
    app.command("repeatable", hidden=True)(compare_bytes)


def compare_groups(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GROUP]…",
            help="Result folders (several with commas between), NAME:KEY=VALUE,… with --scenario, "
            "or SCENARIO:KEY=VALUE,… The others are compared with the first.",
        ),
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="NAME=FOLDER,…", help="Runs under a name.")
    ] = None,
    scenario: Annotated[str, typer.Option("--scenario", help="What the versions run.")] = "",
    commit: Annotated[
        list[str] | None, typer.Option("--commit", metavar="REV", help="A commit's agent; . is the checkout as it is.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Runs of each version.", min=1)] = 10,
    engine: EngineOption = default_engine.COMPARE,
    set_: SetOption = [],  # noqa: B006 (typer copies it)
    quick: QuickOption = False,
    runtime: RuntimeOption = "docker",
    link: LinkOption = "auto",
    cluster: ClusterOption = "",
    figures: Annotated[str, typer.Option("--figures", help="Only these, e.g. goodput_mib_s,rtt_ms.")] = "",
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            help="How sure all intervals are together, if figures scatter normally.",
            min=0.5,
            max=0.9999,
        ),
    ] = 0.95,
) -> None:
    """Did a change help? Runs, policies, kernels or commits side by side.

    Ends with 0 if nothing is worse, 1 if something is or a run failed, 3 if a run can't be trusted.

    Two forms have options of their own: `compare --engines sim,vkernel [SCENARIO|TABLE]…`: do engines agree?
    `compare --same-bytes SCENARIO…`: is every run the same to the byte? `--help` shows them.
    """
    from testbed.study.compare.versions import Asked

    asked = Asked(engine, seeds, quick, tuple(set_), runtime, link)
    with runs_made(cluster):
        code = _compare(
            what or [], group or [], scenario, commit or [], asked, [f for f in figures.split(",") if f], confidence
        )
    raise typer.Exit(code)


def _compare(
    what: Sequence[str],
    named: Sequence[str],
    scenario: str,
    commits: Sequence[str],
    asked: Asked,
    figures: Sequence[str],
    confidence: float,
) -> int:
    from testbed.study.compare import comparison as result
    from testbed.study.compare.difference import differences

    order, groups, variants = _sides(what, named, scenario, commits)
    progress = Progress()
    folder = paths.results() / "compare" / new_run_id()
    if variants:
        groups |= _made(variants, asked, folder, progress)
    sides = [groups[name] for name in order]
    _known(figures, sides)
    found = differences(sides[0], sides[1:], confidence, figures) if all(g.trusted for g in sides) else []
    command = "./run.sh " + shlex.join(sys.argv[1:])
    comparison = result.Comparison(folder.name, sides, found, confidence, command)
    if not found and all(g.trusted for g in sides):
        raise BadInput(
            "compare.nothing-in-common",
            "the groups have no setting and figure in common, so there is nothing to compare",
        )
    page = result.write(folder, comparison)
    make_latest(folder)
    result.print_screen(comparison, Console(width=None if sys.stdout.isatty() else 120))
    print(f"  report      {shown(page)}")
    for line in result.lines(comparison):
        print(line)
    statuses = comparison.statuses.values()
    return next((OF_VERDICT[one] for one in (Status.FAIL, Status.UNTRUSTED) if one in statuses), Exit.PASS)


def _sides(
    what: Sequence[str], named: Sequence[str], scenario: str, commits: Sequence[str]
) -> tuple[list[str], dict[str, Group], list[Variant]]:
    """The groups' names in their order, those that are there already and those that are to be run."""
    from testbed.study.compare.groups import Variant, is_recorded, named_places, recorded, variant

    order: list[str] = []
    groups: dict[str, Group] = {}
    variants: list[Variant] = []
    for text in what:
        if is_recorded(text):
            name = _short(text, order)
            groups[name] = recorded(name, text.split(","))
        else:
            found = variant(text, scenario)
            name = found.name
            variants.append(found)
        order.append(name)
    for text in named:
        name, places = named_places(text)
        groups[name] = recorded(name, places)
        order.append(name)
    if commits and not scenario:
        raise BadInput(
            "compare.commit-without-scenario", "--commit needs --scenario: what the commits' agents should run"
        )
    variants += [Variant(commit, scenario, (), commit) for commit in commits]
    order += commits
    if twice := {name for name in order if order.count(name) > 1}:
        raise BadInput(
            "compare.group-twice", "two groups are named {group!r}; give each a name of its own", group=twice.pop()
        )
    if len(order) < 2:
        if order:
            raise BadInput("compare.one-group", "there is only one group; name another to compare it with", _EXAMPLE)
        raise BadInput("compare.no-group", "nothing to compare", _EXAMPLE)
    return order, groups, variants


_EXAMPLE = "E.g. ./run.sh compare --scenario startup base: new:policy=delivery-rate, or two result folders"


def _short(text: str, taken: Sequence[str]) -> str:
    """A group's name from its folders: the last part that tells it from the others."""
    parts = Path(text.split(",")[0]).resolve().parts
    for depth in range(1, len(parts) + 1):
        name = "/".join(parts[-depth:])
        if name not in taken:
            return name
    return text


def _made(variants: Sequence[Variant], asked: Asked, folder: Path, progress: Progress) -> dict[str, Group]:
    from testbed.study.compare.versions import make, versions

    ready(engines.named(asked.engine), asked.options, progress, "compare")
    found = versions(variants, asked, progress)
    return {group.name: group for group in make(found, asked, folder, progress)}


def _known(figures: Sequence[str], groups: Sequence[Group]) -> None:
    known = {name for group in groups for run in group.runs for name in run.measured.values}
    for name in figures:
        if name not in known:
            raise BadInput(
                "compare.no-such-figure",
                "--figures: there is no figure {figure!r}; figures: {figures}",
                figure=name,
                figures=", ".join(sorted(known)),
            )


def compare_engines(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCENARIO|TABLE]…", help="Scenarios, or tables by name; without any, all scenarios."),
    ] = None,
    set_: SetOption = [],  # noqa: B006 (typer copies it)
    quick: QuickOption = False,
    runtime: RuntimeOption = "docker",
    engines: Annotated[
        str, typer.Option("--engines", metavar="ENGINE,…", help="The others are compared with the first.")
    ] = "sim,mininet",
    rows: Annotated[str, typer.Option("--rows", metavar="ROW,…", help="Only these rows of tables.")] = "",
    columns: Annotated[str, typer.Option("--columns", metavar="COLUMN,…", help="Only these columns of tables.")] = "",
    repeat: Annotated[int | None, typer.Option("--repeat", min=1, max=99, help="Runs of each cell of tables.")] = None,
    results: Annotated[
        list[str], typer.Option("--results", metavar="ENGINE=FOLDER", help="A result folder instead of a run.")
    ] = [],  # noqa: B006
    cluster: ClusterOption = "",
) -> None:
    """Run scenarios on each engine: window shares within ±0.03 at every second, goodput within 3%,
    convergence within 10%; of tables, and of other traffic than NCP, all figures within 5%. The last line is
    PASS, FAIL or UNTRUSTED."""
    from testbed.study.compare import agreement, on_engines

    wanted = names or [str(path) for path in scenarios()]
    chosen = _engines(engines)
    kept = _kept(results, chosen, wanted)
    asked = on_engines.Asked(chosen, tuple(set_), quick, runtime, rows, columns, repeat, kept)
    found: list[Agreement] = []
    folder = paths.results() / "cross-check" / new_run_id()

    def each(entry: Agreement) -> None:
        found.append(entry)
        print("\n".join(entry.lines()))
        agreement.write(folder, found, {})  # whatever becomes of those that follow

    with runs_made(cluster):
        refused = on_engines.compare_all(wanted, asked, folder, each, strict=bool(names))
    if not found:
        raise CannotRun(
            "compare.no-engine-carries", "these engines carry none of the scenarios, so there is nothing to compare"
        )
    page = agreement.write(folder, found, refused)
    make_latest(folder)
    for entry in found:
        print(f"{entry.verdict:<9} {entry.scenario}")
    for name, why in refused.items():
        print(f"{name}: not carried: {why}")
    word = agreement.verdict_over(found)
    print(f"  report      {page}")
    print(f"{word.upper()} cross-check {folder.name}")
    raise typer.Exit(OF_VERDICT[word])


def _engines(text: str) -> tuple[str, ...]:
    names = text.split(",")
    unknown = [name for name in names if name not in ENGINES]
    if unknown or len(names) < 2 or len(set(names)) < len(names):
        raise BadInput(
            "compare.bad-engines",
            "--engines {text}: should be two or more of {engines}, like sim,vkernel",
            text=text,
            engines=", ".join(ENGINES),
        )
    return tuple(names)


def _kept(results: list[str], engines: tuple[str, ...], names: list[str]) -> dict[str, Path]:
    """Result folders by engine."""
    found = {}
    for text in results:
        engine, _, folder = text.partition("=")
        if engine not in engines or not Path(folder).is_dir():
            raise BadInput(
                "compare.bad-results",
                "--results {text}: should be one of {engines} and a result folder, like mininet=results/startup/latest",
                text=text,
                engines=", ".join(engines),
            )
        found[engine] = Path(folder).resolve()
        confine.refuse_links(found[engine])
    if found and len(names) != 1:
        raise BadInput("compare.results-need-one", "--results: give one scenario or table, that of the result folder")
    return found


def compare_bytes(
    scenarios: Annotated[
        list[str], typer.Argument(metavar="SCENARIO…", help="Scenarios, or cells of tables as TABLE/ROW/COLUMN.")
    ],
    runs: Annotated[int, typer.Option("--runs", min=2, max=99, help="Runs of each with one seed.")] = 10,
    set_: SetOption = [],  # noqa: B006 (typer copies it)
    quick: QuickOption = False,
    seed: SeedOption = None,
    cluster: ClusterOption = "",
) -> None:
    """Run scenarios in a guest kernel several times: every file of data must be the same each time, byte for
    byte, and another seed must give another run. The last line is PASS or FAIL."""
    from testbed.study.compare.repetitions import loaded_of, repeat
    from testbed.study.compare.same_bytes import verdict_over

    loaded = {name: loaded_of(name, set_, quick=quick) for name in scenarios}
    with runs_made(cluster):
        found, folder = repeat(loaded, Options(seed=seed, quick=quick), runs, paths.results() / "repeatable")
    for repetition in found:
        print("\n".join(repetition.lines()))
    word = verdict_over(repetition.holds for repetition in found)
    print(f"  hashes      {folder / 'hashes.json'}")
    print(f"{word.upper()} repeatable {folder.name}")
    raise typer.Exit(OF_VERDICT[word])
