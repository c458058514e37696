"""A wrong command line in one sentence, like a wrong scenario: the mistake, the right form, the next step."""

from __future__ import annotations

from collections.abc import Sequence

# Typer carries Click in itself, and gives its errors no name of its own.
from typer._click import exceptions

from testbed.cli.examples import EXAMPLES
from testbed.errors import BadInput
from testbed.message import Message

UsageError = exceptions.UsageError
NoArguments = exceptions.NoArgsIsHelpError
CODES = {
    "MissingParameter": "usage.missing",
    "NoSuchOption": "usage.no-such-option",
    "BadOptionUsage": "usage.option-value",
    "BadParameter": "usage.bad-value",
}
"""Codes of Click's errors, by their classes; that of all others is ``usage.wrong``."""


def as_bad_input(error: exceptions.UsageError, arguments: Sequence[str]) -> BadInput:
    """The error as :class:`BadInput`; ``arguments`` are those of the command line, its verb first if it has one."""
    from pydantic import ValidationError

    verb = " ".join(error.ctx.command_path.split()[1:]) if error.ctx else arguments[0]
    said = " ".join(
        error.format_message().replace("Value error, ", "").replace("Input should", "should").split()
    ).rstrip(".")
    if isinstance(error.__cause__, ValidationError):
        value = repr(error.__cause__.errors()[0]["input"])
        said += "" if value in said else f", not {value}"
    code = CODES.get(type(error).__name__, "usage.wrong")
    hint = " ".join(["./run.sh", *verb.split(), "--help has all."])
    examples = EXAMPLES.get(verb.partition(" ")[0])
    if examples and code == "usage.missing":
        hint = f"For example: {examples[0]}\n{hint}"
    return BadInput.of(Message(code, said[0].lower() + said[1:]).at(verb), hint)
