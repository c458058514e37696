"""Verbs with their arguments and options, from the command line itself."""

from __future__ import annotations

import inspect
import re
from typing import Any

import typer.main

from testbed.cli import app
from testbed.cli.examples import EXAMPLES
from tools.reference.markdown import generated, prose, table

INTRODUCTION = """\
Every verb with its arguments and options, as `./run.sh VERB --help` shows them. [Verbs](verbs.md) says what for."""


def page() -> str:
    """The page's text."""
    root: Any = typer.main.get_command(app.command_line(None))
    shown = {verb for verbs in app.GROUPS.values() for verb in verbs}
    hidden = [name for name in root.commands if name not in shown]
    parts = []
    for group, verbs in {**app.GROUPS, "Other names": dict.fromkeys(hidden, "")}.items():
        reported = [text for verb in verbs for text in _verb(verb, root.commands[verb])]
        parts.append("\n\n".join([f"## {group}", *reported]))
    return generated("Options", INTRODUCTION, *parts)


def _verb(name: str, command: Any) -> list[str]:
    """A verb's section; a verb with verbs of its own has one for each."""
    if hasattr(command, "commands"):
        return [text for below, each in command.commands.items() for text in _verb(f"{name} {below}", each)]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = " ".join([f"./run.sh {name}", *(_of_argument(each) for each in arguments), "[OPTIONS]"])
    # The help's own examples keep to a terminal's form.
    reported = [text for text in inspect.cleandoc(command.help or "").split("\n\n") if not text.startswith("\b")]
    parts = [f"### {name}", prose("\n\n".join(reported)), f"```\n{usage}\n```"]
    if name in EXAMPLES:
        parts += ["For example:", "\n".join(["```sh", *EXAMPLES[name], "```"])]
    rows = [(f"`{_of_argument(each)}`", _help(each), "") for each in arguments if _help(each)]
    rows += [
        (_names(each), _help(each), _default(each))
        for each in command.params
        if each.param_type_name == "option" and not each.hidden and each.name != "help"
    ]
    if rows:
        parts.append(table(("option", "what", "without it"), rows))
    return parts


def _of_argument(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    if argument.nargs == -1 and "…" not in name and "..." not in name:
        name += "…"
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _help(parameter: Any) -> str:
    return prose(getattr(parameter, "help", None) or "")


def _names(option: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar or _type(option)}"
    names = [*option.opts, *option.secondary_opts]
    return ", ".join(f"`{name}{value}`" for name in names)


def _type(option: Any) -> str:
    kind = option.type_descriptor
    if kind.is_choice:
        return "|".join(str(getattr(choice, "value", choice)) for choice in kind.choices)
    return re.sub(r"^list\[(.*)\]$", r"\1", option.bare_type()).upper()


def _default(option: Any) -> str:
    value = option.default
    if value is None or value == [] or value is False or value == "" or callable(value) or not option.show_default:
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
