"""``completion``: what Tab completes in bash, zsh and fish; and the words themselves, for which the shells ask it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer._completion_classes import BashComplete  # the only public way to it is a shell's script

from testbed import paths
from testbed.errors import BadInput
from testbed.scenario import files

SCRIPTS = Path(__file__).with_name("completion_scripts")
"""A script for each shell. None ever sets a checkout up: Tab may not take minutes."""

MOST_FOLDERS = 200
"""Result folders that are offered at once."""


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell that completes.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]…", help="What was typed, for the script.")
    ] = None,
) -> None:
    """Print the script that makes a shell complete ./run.sh: verbs, names of scenarios, tables and sweeps, options
    and their values, keys of --set, result folders."""
    if words is None:
        print((SCRIPTS / f"run.sh.{shell}").read_text(encoding="utf-8"), end="")
        return
    print(*complete(words, shell), sep="\n")


def complete(words: Sequence[str], shell: str = "") -> list[str]:
    """Completions of the last word; the others come before it. Where there are none, the shells offer files."""
    from testbed.cli.app import VERBS, command_line, with_place, with_verb

    *before, typed = words or [""]
    if not before:
        return sorted(one for one in {"--help", *VERBS, *names()} if one.startswith(typed) and (typed or one[0] != "-"))
    try:
        arguments = with_place(with_verb([word for word in before if word != "="]))  # bash's --engine=sim is three
    except BadInput:
        return []
    root: Any = typer.main.get_command(command_line(arguments[0]))
    found = BashComplete(root, {}, "./run.sh", "").get_completions(arguments, typed)
    option, equals, _ = typed.partition("=")
    prefix = f"{option}=" if equals and option.startswith("--") and shell != "bash" else ""
    return sorted({f"{prefix}{one.value}" for one in found if one.type == "plain"})


def shipped(*kinds: Callable[[], Iterable[Path]]) -> Callable[[], list[str]]:
    """Make what offers the names of the checkout's files of some kinds."""
    return lambda: [path.stem for kind in kinds for path in kind()]


SCENARIOS = (files.scenarios, files.links, files.tables, files.sweeps)
"""All that ``run`` and ``show`` take."""
names = shipped(*SCENARIOS)


def names_and_results() -> list[str]:
    """Names, and result folders."""
    return [*names(), *results()]


def keys(ctx: typer.Context) -> Iterator[str]:
    """The scenario's own keys, whole and by their ends, with an equals sign."""
    from testbed.scenario import bounded
    from testbed.scenario.overrides import OPTIONAL, paths_of

    known = {path.stem: path for kind in SCENARIOS for path in kind()}
    named = (known.get(word, Path(word)) for word in _words(ctx))
    if (file := next((path for path in named if path.is_file()), None)) is None:
        yield from (f"{key}=" for key in OPTIONAL)
        return
    try:
        document = bounded.load(files.read(file))
    except (BadInput, bounded.NotYaml):
        return
    found = [path for path in paths_of(document) if path[0] not in ("name", "title", "source", "description", "quick")]
    ends = [path[-1] for path in found if path[0] != "checks"]  # as --set takes them
    yield from (f"{'.'.join(path)}=" for path in found)
    yield from (f"{end}=" for end in {*ends, *OPTIONAL} if ends.count(end) <= 1)


def _words(ctx: typer.Context) -> list[str]:
    """Arguments and values of options. An option whose value is to come hides the arguments before it."""
    return [word for word in (*ctx.args, *ctx.params.values()) if word and isinstance(word, str)]


def runs(ctx: typer.Context) -> list[str]:
    """Runs of the name that is typed, or else of the verb."""
    folders = [paths.results() / word for word in (*_words(ctx), str(ctx.command.name))]
    return ["latest", *next(([one.name for one in _newest(place)] for place in folders if place.is_dir()), [])]


def results() -> Iterator[str]:
    """Result folders as one would type them here."""
    from testbed.cli.outcome import shown

    base = paths.results()
    for place in sorted(base.iterdir()) if base.is_dir() else ():
        for folder in [place / "latest", *_newest(place)] if place.is_dir() else []:
            if folder.is_dir():
                yield shown(folder)


def _newest(place: Path) -> list[Path]:
    """A scenario's result folders."""
    return list(islice((one for one in sorted(place.iterdir(), reverse=True) if one.is_dir()), MOST_FOLDERS))
