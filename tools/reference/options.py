"""Verbs with their arguments and options, from the command line itself."""

from __future__ import annotations

import re
from typing import Any

import typer
from typer.cli import get_docs_for_click

from testbed.cli import app
from tools.reference.markdown import generated

INTRODUCTION = """\
Every verb with its arguments and options, as `./run.sh VERB --help` shows them. [Verbs](verbs.md) says what for."""
EXAMPLES = re.compile(r"\x08\nFor example:\n((?:  .*\n)+)")


def page() -> str:
    """The page's text."""
    root: Any = typer.main.get_command(app.command_line(None))
    context = typer.Context(root)
    verbs = "".join(
        get_docs_for_click(obj=verb, ctx=context, indent=1, call_prefix="./run.sh") for verb in root.commands.values()
    )
    return generated("Options", INTRODUCTION, EXAMPLES.sub(r"For example:\n\n```sh\n\1```\n", verbs).strip())
