"""A wrong command line in one sentence, like a wrong scenario: the mistake, the right form, the next step."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, get_args

# Typer carries Click in itself, and gives its errors no name of its own.
from typer._click import exceptions

from testbed.cli.examples import EXAMPLES
from testbed.errors import BadInput
from testbed.message import Message

UsageError = exceptions.UsageError
NoArguments = exceptions.NoArgsIsHelpError


def as_bad_input(error: exceptions.UsageError, arguments: Sequence[str]) -> BadInput:
    """The error as :class:`BadInput`; ``arguments`` are those of the command line, its verb first if it has one."""
    verb = " ".join(error.ctx.command_path.split()[1:]) if error.ctx else arguments[0]
    return BadInput.of(_message(error, verb, arguments), _hint(error, verb))


def _hint(error: exceptions.UsageError, verb: str) -> str:
    more = " ".join(["./run.sh", *verb.split(), "--help has all."])
    example = next((line for name in verb.split()[:1] for line in EXAMPLES.get(name, ())), None)
    if example and isinstance(error, exceptions.MissingParameter):
        return f"For example: {example}\n{more}"
    return more


def _message(error: exceptions.UsageError, verb: str, arguments: Sequence[str]) -> Message:
    match error:
        case exceptions.MissingParameter():
            return Message("usage.missing", "{parameter} is missing", parameter=_name(error.param)).at(verb)
        case exceptions.NoSuchOption():
            option, guess = error.option_name, _guess(error.option_name, error.possibilities)
            return Message("usage.no-such-option", "there is no option {option}{guess}", option=option, guess=guess).at(
                verb
            )
        case exceptions.BadOptionUsage():
            takes = "takes a value" if "requires" in error.message else "takes no value"
            return Message("usage.option-value", "{option} {takes}", option=error.option_name, takes=takes).at(
                arguments[0]
            )
        case exceptions.BadParameter() if error.param is not None:
            value = _value(error.param, arguments) or _in_quotes(error.message)
            return Message(
                "usage.bad-value",
                "{parameter}{value}: {should_be}",
                parameter=_name(error.param),
                value=value,
                should_be=_should_be(error.param, value, error.message),
            )
    if "No such command" in error.message:
        said = error.message.removeprefix("No such command ").replace(". Did", " is no verb of it; did")
        return Message("usage.no-such-command", "{error}", error=said).at(verb)
    if extra := _in_brackets(error.message):
        return Message("usage.one-too-many", "{extra!r} is one too many", extra=extra).at(verb)
    return Message("usage.wrong", "{error}", error=error.message.rstrip(".")).at(verb)


def _name(parameter: Any) -> str:
    if parameter is None:
        return "an argument"
    if parameter.param_type_name == "option":
        return str(parameter.opts[0])
    return str(parameter.metavar or parameter.name.upper()).strip("[]…")


def _value(parameter: Any, arguments: Sequence[str]) -> str:
    """The value of an option, with a blank before it; "" where it does not show."""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        option, equals, value = argument.partition("=")
        if option in parameter.opts:
            return f" {value if equals else following!s}"
    return ""


def _should_be(parameter: Any, value: str, message: str) -> str:
    annotation = parameter.type_descriptor.annotation
    if choices := [one for one in get_args(annotation) if isinstance(one, str)]:
        return f"should be {one_of(choices)}{_guess(value.strip(), choices)}"
    low, high = parameter.min, parameter.max
    if annotation in (int, float):
        kind = "a whole number" if annotation is int else "a number"
        if low is not None and high is not None:
            return f"should be {kind} from {low} to {high}"
        return f"should be {kind}" + (f", at least {low}" if low is not None else "")
    return message.removeprefix("Value error, ").rstrip(".")


def _guess(wrong: str, known: Sequence[str] | None) -> str:
    close = difflib.get_close_matches(wrong, known or (), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def one_of(choices: Sequence[str]) -> str:
    """``a, b or c``."""
    return " or ".join(", ".join(part) for part in (choices[:-1], choices[-1:]) if part)


def _in_quotes(message: str) -> str:
    """The argument of ``Value error, 'x' is not one of …``, with a blank before it."""
    return f" {message.split(chr(39))[1]}" if message.startswith("Value error, '") else ""


def _in_brackets(message: str) -> str:
    """The arguments of ``Got unexpected extra argument(s) (a b)``."""
    return message.rsplit("(", 1)[-1].rstrip(")") if "unexpected extra" in message else ""
