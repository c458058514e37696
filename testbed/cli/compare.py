"""``compare``: groups of runs side by side, to "better", "worse" or "no difference shown"."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli.options import EngineOption, LinkOption, QuickOption, RuntimeOption, SetOption
from testbed.errors import BadInput, Exit

if TYPE_CHECKING:
    from testbed.compare.groups import Group, Variant
    from testbed.compare.make import Asked
    from testbed.runner.progress import Progress


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("compare")
    def compare(
        what: Annotated[
            list[str] | None,
            typer.Argument(
                metavar="[GROUP]…",
                help="Result folders (several with commas between), NAME:KEY=VALUE,… with --scenario, "
                "or SCENARIO:KEY=VALUE,… The first is what the others are compared with.",
            ),
        ] = None,
        group: Annotated[
            list[str] | None, typer.Option("--group", metavar="NAME=FOLDER,…", help="Runs under a name.")
        ] = None,
        scenario: Annotated[str, typer.Option("--scenario", help="What the versions run.")] = "",
        commit: Annotated[
            list[str] | None,
            typer.Option("--commit", metavar="REV", help="A commit's agent; . is the checkout as it is."),
        ] = None,
        seeds: Annotated[int, typer.Option("--seeds", help="Runs of each version.", min=1)] = 10,
        engine: EngineOption = "sim",
        set_: SetOption = [],  # noqa: B006 (typer copies it)
        quick: QuickOption = False,
        runtime: RuntimeOption = "docker",
        link: LinkOption = "auto",
        figures: Annotated[str, typer.Option("--figures", help="Only these, e.g. goodput_mib_s,rtt_ms.")] = "",
        confidence: Annotated[
            float,
            typer.Option(
                "--confidence",
                help="With which all intervals together hold, where figures scatter normally.",
                min=0.5,
                max=0.9999,
            ),
        ] = 0.95,
    ) -> None:
        """Did a change help? Runs, policies, kernels or commits side by side.

        Ends with 0 when nothing is worse, 1 when something is or a run failed, 3 when a run can't be trusted.
        """
        from testbed.compare.make import Asked

        asked = Asked(engine, seeds, quick, tuple(set_), runtime, link)
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
    from rich.console import Console

    from testbed import paths
    from testbed.cli.outcome import shown
    from testbed.compare import result
    from testbed.compare.difference import differences
    from testbed.plan.resolve import new_run_id
    from testbed.runner.progress import Progress
    from testbed.study.folder import make_latest

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
        raise BadInput("the groups have no setting and figure in common, so there is nothing to compare")
    page = result.write(folder, comparison)
    make_latest(folder)
    result.print_screen(comparison, Console(width=None if sys.stdout.isatty() else 120))
    print(f"  report      {shown(page)}")
    for line in result.lines(comparison):
        print(line)
    words = set(comparison.words.values())
    return Exit.FAIL if words & {"failed", "worse", "mixed"} else Exit.UNTRUSTED if "untrusted" in words else Exit.PASS


def _sides(
    what: Sequence[str], named: Sequence[str], scenario: str, commits: Sequence[str]
) -> tuple[list[str], dict[str, Group], list[Variant]]:
    """The groups' names in their order, those that are there already and those that are to be run."""
    from testbed.compare.groups import Variant, is_recorded, named_places, recorded, variant

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
        raise BadInput("--commit needs --scenario: what the commits' agents should run")
    variants += [Variant(commit, scenario, (), commit) for commit in commits]
    order += commits
    if twice := {name for name in order if order.count(name) > 1}:
        raise BadInput(f"two groups are named {twice.pop()!r}; give each a name of its own")
    if len(order) < 2:
        raise BadInput(
            "there is only one group; give what it is compared with" if order else "nothing to compare",
            "E.g. ./run.sh compare --scenario startup base: new:policy=delivery-rate, or two result folders",
        )
    return order, groups, variants


def _short(text: str, taken: Sequence[str]) -> str:
    """A group's name from its folders: the last part that tells it from the others."""
    parts = Path(text.split(",")[0]).resolve().parts
    for depth in range(1, len(parts) + 1):
        name = "/".join(parts[-depth:])
        if name not in taken:
            return name
    return text


def _made(variants: Sequence[Variant], asked: Asked, folder: Path, progress: Progress) -> dict[str, Group]:
    from testbed import engines
    from testbed.compare.make import make, versions
    from testbed.study.bootstrap import ready

    ready(engines.named(asked.engine), asked.options, progress, "compare")
    found = versions(variants, asked, progress)
    return {group.name: group for group in make(found, asked, folder, progress)}


def _known(figures: Sequence[str], groups: Sequence[Group]) -> None:
    known = {name for group in groups for run in group.runs for name in run.measured.values}
    for name in figures:
        if name not in known:
            raise BadInput(f"--figures: there is no figure {name!r}; figures: {', '.join(sorted(known))}")
