"""Every command line whose form has to stay accepted: each verb, each of its options, each of an option's values, and
each name that stands for a verb. ``spellings.txt`` has them, a line each, with the verb that carries them out.

``python -m tests.golden transcripts`` adds those that are new. It takes none away: that one is no longer accepted is
for the test to say.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import typer

from testbed.cli.app import FORMS, VERBS, command_line, with_place, with_verb
from testbed.cli.wrong_usage import UsageError, as_bad_input
from testbed.errors import BadInput
from testbed.plan.engines import ENGINES
from testbed.scenario import files

FILE = Path(__file__).with_name("spellings.txt")
ARROW = "  ->  "

VALUES = {
    "--engine": tuple(ENGINES),
    "--engines": ("sim,vkernel",),
    "--set": ("policy=previous",),
    "--cluster": ("", "slurm", "slurm:partition=short"),
    "SCENARIO": ("startup",),
    "TABLE": ("speed-table",),
    "SWEEP": ("window-rtt",),
}
"""What an option or argument is given, where its type does not name its values; any other is ``x`` or a number."""


def listed(text: str) -> dict[str, str]:
    """Those of the file's text: command line → verb."""
    lines = (line.partition(ARROW) for line in text.splitlines())
    return {typed: verb for typed, _, verb in lines}


def verb_of(typed: str) -> str:
    """The verb that would carry a command line out, or why there is none: nothing is carried out."""
    words = shlex.split(typed)
    try:
        command, path, rest = _found(with_place(with_verb(words)))
        command.make_context(" ".join(path), rest)
    except UsageError as error:
        return f"refused: {as_bad_input(error, words).message}"
    except BadInput as error:
        return f"refused: {error.message}"
    return " ".join(path)


def _found(arguments: Sequence[str]) -> tuple[Any, list[str], list[str]]:
    """The command, the words that name it, and those that are left for it."""
    command: Any = typer.main.get_command(command_line(arguments[0]))
    path, rest = [], list(arguments)
    while rest and rest[0] in getattr(command, "commands", {}):
        path.append(rest.pop(0))
        command = command.commands[path[-1]]
    if not path or hasattr(command, "commands"):
        raise BadInput("test.no-verb", f"{shlex.join(arguments)} names no verb")
    return command, path, rest


def possible() -> list[str]:
    """All that there are today."""
    return [*_of_names(), *(line for words in _verbs() for line in _of_verb(words))]


def _of_names() -> Iterator[str]:
    for path in (*files.scenarios(), *files.links()):
        yield from (path.stem, f"run {path.stem}")
    for verb, paths in (("table", files.tables()), ("sweep", files.sweeps())):
        for path in paths:
            yield from (path.stem, f"run {path.stem}", f"run --quick {path.stem}", f"{verb} {path.stem}")


def _verbs() -> Iterator[list[str]]:
    """What begins a command line of each verb, those of a group and the forms of ``compare`` included."""
    for verb in VERBS:
        command = typer.main.get_command(command_line(verb)).commands[verb]  # type: ignore[attr-defined]
        yield from ([verb, inner] for inner in getattr(command, "commands", {}))
        if not hasattr(command, "commands"):
            yield [verb]
    for option in FORMS:
        yield ["compare", option, *VALUES.get(option, ())]


def _of_verb(words: list[str]) -> Iterator[str]:
    """The verb with what it can't do without, and that with each option and each value of it."""
    command, _, _ = _found(with_verb(words))
    needed = [_values(one)[0] for one in command.params if one.param_type_name == "argument" and one.required]
    yield shlex.join([*words, *needed])
    for parameter in command.params:
        for value in _values(parameter):
            if parameter.param_type_name == "argument":
                others = [value if one == _values(parameter)[0] else one for one in needed or [value]]
                yield shlex.join([*words, *others])
                continue
            for name in (*parameter.opts, *parameter.secondary_opts):
                yield shlex.join([*words, *needed, name, *([value] if value else [])])


def _values(parameter: Any) -> Sequence[str]:
    """What may be given for an option or an argument; "" for nothing."""
    if getattr(parameter, "is_flag", False):
        return [""]
    choices = [one for one in get_args(parameter.type_descriptor.annotation) if isinstance(one, str)]
    called = parameter.opts[0] if parameter.param_type_name == "option" else str(parameter.metavar).strip("[]…")
    if choices or called in VALUES:
        return choices or VALUES[called]
    if parameter.type_descriptor.annotation in (int, float):
        return [str(parameter.min or 1)]
    return ["x"]


def anew(text: str) -> str:
    """The file's text with those that are new."""
    known = listed(text)
    found = known | {typed: verb_of(typed) for typed in possible() if typed not in known}
    return "".join(f"{typed}{ARROW}{verb}\n" for typed, verb in sorted(found.items()))
