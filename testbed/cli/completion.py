"""``completion``: what Tab completes in bash, zsh and fish; and the words themselves, for which the shells ask it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from testbed import paths
from testbed.errors import BadInput
from testbed.scenario import files

SCRIPTS = {
    "bash": """\
_ncp_testbed() {
    local IFS=$'\\n'
    COMPREPLY=($(NCP_TESTBED_NO_SETUP=1 "$1" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    [[ ${COMPREPLY[0]-} == *[=/] ]] && compopt -o nospace
    return 0
}
complete -o default -o nosort -F _ncp_testbed run.sh
""",
    "zsh": """\
_ncp_testbed() {
    local -a found open closed
    found=("${(@f)$(NCP_TESTBED_NO_SETUP=1 ${~words[1]} completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    open=(${(M)found:#*[=/]})
    closed=(${found:#*[=/]})
    ((${#open})) && compadd -S '' -a open
    ((${#closed})) && compadd -a closed
    ((${#open} + ${#closed})) || _files
}
(($+functions[compdef])) || { autoload -Uz compinit && compinit; }
compdef _ncp_testbed run.sh
""",
    "fish": """\
function __ncp_testbed
    set -l typed (commandline -opc)
    NCP_TESTBED_NO_SETUP=1 $typed[1] completion fish -- $typed[2..-1] (commandline -ct) 2>/dev/null
end
complete --command run.sh --no-files --arguments '(__ncp_testbed)'
complete --command run.sh --condition 'test -z (__ncp_testbed | string collect)' --force-files
""",
}
"""A script of each shell. None ever sets a checkout up: Tab may not take minutes."""

MOST_FOLDERS = 200
"""Result folders that are offered at once."""

YAML = (".yaml", ".yml")
SCENARIO = (*YAML, files.IN_PYTHON)


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell that completes.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORD]…", help="For the script itself: everything typed, up to the cursor."),
    ] = None,
) -> None:
    """Print the script that makes a shell complete ./run.sh: verbs, names of scenarios, tables and sweeps, options
    and their values, keys of --set, result folders."""
    if words is None:
        print(SCRIPTS[shell], end="")
        return
    print(*complete(_joined(words) if shell == "bash" else words, shell), sep="\n")


def complete(words: Sequence[str], shell: str = "") -> list[str]:
    """Completions of the last word; the others come before it."""
    *before, typed = words or [""]
    option, equals, value = typed.partition("=")
    if equals and option.startswith("--"):
        found = complete([*before, option, value])
        # Bash takes "=" for the end of a word.
        return found if shell == "bash" else [f"{option}={one}" for one in found]
    return sorted({one for one in _candidates(before, typed) if one.startswith(typed)})


def _joined(words: Sequence[str]) -> list[str]:
    """Bash's words, of which ``--engine=sim`` is three."""
    joined: list[str] = []
    for word in words:
        if word == "=" and joined and joined[-1].startswith("--"):
            joined[-1] += "="
        elif joined and joined[-1].startswith("--") and joined[-1].endswith("="):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _candidates(before: Sequence[str], typed: str) -> Iterable[str]:
    from testbed.cli.app import VERBS, with_place, with_verb

    if not before:
        return ["--help"] if typed.startswith("-") else [*VERBS, *_names("SCENARIO"), *_paths(typed, SCENARIO)]
    try:
        arguments = with_place(with_verb(before))
    except BadInput:
        return []
    command, rest = _command(arguments)
    parameters = command.params
    value_of = _option_before(parameters, rest)
    if value_of is not None:
        return _values(value_of, rest, typed)
    if typed.startswith("-"):
        return ["--help", *(name for one in parameters for name in (*one.opts, *one.secondary_opts) if name[0] == "-")]
    if hasattr(command, "commands"):
        return list(command.commands)
    places = [one for one in parameters if one.param_type_name == "argument"]
    given = len(_arguments(parameters, rest))
    taken = places[min(given, len(places) - 1)] if places and (given < len(places) or places[-1].nargs == -1) else None
    return _values(taken, rest, typed) if taken is not None else []


def _command(arguments: Sequence[str]) -> tuple[Any, list[str]]:
    """The command of the arguments, and those that are left for it."""
    from testbed.cli.app import command_line

    command: Any = typer.main.get_command(command_line(arguments[0]))
    rest = list(arguments)
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    return command, rest


def _option_before(parameters: Sequence[Any], rest: Sequence[str]) -> Any | None:
    """The option whose value is to come, or None."""
    if not rest:
        return None
    return next((one for one in parameters if rest[-1] in one.opts and not getattr(one, "is_flag", False)), None)


def _arguments(parameters: Sequence[Any], rest: Sequence[str]) -> list[str]:
    """The words that are neither options nor their values."""
    found = [word for word in rest if not word.startswith("-")]
    for before, word in pairwise(rest):
        if _option_before(parameters, [before]) is not None and word in found:
            found.remove(word)
    return found


def _values(parameter: Any, rest: Sequence[str], typed: str) -> Iterable[str]:
    """Completions of an option or an argument, by its type or by its name in the help."""
    from testbed.plan.engines import ENGINES

    choices = [one for one in get_args(parameter.type_descriptor.annotation) if isinstance(one, str)]
    if choices:
        return choices
    called = (parameter.metavar or parameter.name or "").strip("[]…").upper()
    if called in ("SCENARIO", "TABLE", "SWEEP", "NAME", "GROUP"):
        return [*_names(called), *_paths(typed, SCENARIO if called == "SCENARIO" else YAML)]
    if called == "KEY=VALUE":
        return _keys(rest)
    if "--engine" in parameter.opts:
        return list(ENGINES)
    if called == "RUN":
        return ["latest", *_runs(rest)]
    if called == "SCENARIO|RESULT":
        return [*_names("SCENARIO"), *_results(), *_paths(typed, SCENARIO)]
    if called.startswith("RESULT"):
        return [*_results(), *_paths(typed)]
    return _paths(typed)


def _names(what: str) -> list[str]:
    """Shipped names: with ``SCENARIO`` all, as ``run`` and ``show`` take them all."""
    kinds = {"TABLE": [files.tables()], "SWEEP": [files.sweeps()], "NAME": []}
    every = [files.scenarios(), files.links(), files.tables(), files.sweeps()]
    return [path.stem for found in kinds.get(what, every) for path in found]


def _keys(rest: Sequence[str]) -> Iterator[str]:
    """The scenario's own keys, whole and by their ends, with an equals sign."""
    from testbed.scenario import bounded
    from testbed.scenario.overrides import OPTIONAL, paths_of

    named = [word for word in rest if not word.startswith("-")]
    known = [*files.scenarios(), *files.links(), *files.tables(), *files.sweeps()]
    file = next((path for word in named for path in [*known, Path(word)] if word in (path.stem, str(path))), None)
    if file is None or not file.is_file():
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


def _runs(rest: Sequence[str]) -> list[str]:
    """Runs of the name that is typed."""
    named = [word for word in rest if not word.startswith("-")]
    folders = (paths.results() / word for word in named)
    return next(([one.name for one in _newest(place)] for place in folders if place.is_dir()), [])


def _results() -> Iterator[str]:
    """Result folders as one would type them here."""
    from testbed.cli.outcome import shown

    base = paths.results()
    if not base.is_dir():
        return
    for place in sorted(base.iterdir()):
        for folder in [place / "latest", *_newest(place)] if place.is_dir() else []:
            if folder.is_dir():
                yield shown(folder)


def _newest(place: Path) -> list[Path]:
    """A scenario's result folders."""
    return list(islice((one for one in sorted(place.iterdir(), reverse=True) if one.is_dir()), MOST_FOLDERS))


def _paths(typed: str, suffixes: tuple[str, ...] = ()) -> Iterator[str]:
    """Files, of one of the suffixes if any are given, and folders whose path begins so; nothing where nothing is typed
    yet."""
    if not typed:
        return
    folder, _, start = typed.rpartition("/")
    place = Path(folder or ("/" if typed.startswith("/") else ".")).expanduser()
    try:
        entries = sorted(place.iterdir())
    except OSError:
        return
    for one in entries:
        reported = f"{folder}/{one.name}" if "/" in typed else one.name
        if one.name.startswith(start) and one.is_dir():
            yield f"{reported}/"
        elif one.name.startswith(start) and (not suffixes or one.suffix in suffixes):
            yield reported
