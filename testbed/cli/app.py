"""Puts the verbs together; ``./run.sh SCENARIO`` is short for ``./run.sh run SCENARIO``."""

from __future__ import annotations

import difflib
import sys

import click
import typer
from typer.core import TyperGroup

from testbed.errors import Exit, TestbedError


class VerbOrScenario(TyperGroup):
    """A first word that is no verb is a scenario to run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert ``run`` before a scenario's name; a near miss of a verb is an error, not a scenario."""
        first = next((arg for arg in args if not arg.startswith("-")), None)
        if first is not None and first == args[0] and first not in self.commands:
            from testbed.scenario.load import available

            scenarios = [path.stem for path in available()]
            near_verb = difflib.get_close_matches(first, list(self.commands), n=1, cutoff=0.75)
            near_scenario = difflib.get_close_matches(first, scenarios, n=1, cutoff=0.75)
            if near_verb and not near_scenario and first not in scenarios and "/" not in first:
                raise click.UsageError(f"there is no verb or scenario {first!r}; did you mean {near_verb[0]!r}?", ctx)
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=VerbOrScenario,
    name="./run.sh",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Runs experiments about transport windows on links whose behaviour is measured. "
    "`./run.sh SCENARIO` runs one and ends in PASS, FAIL or UNTRUSTED.",
    epilog="Exit codes: 0 pass, 1 fail, 2 bad input or usage, 3 untrusted, 4 this machine can't run it.",
)


def main() -> None:
    """Run the command line; ends the process with the exit code of docs/contracts.md."""
    from testbed.cli import clean, doctor, list_scenarios, machine, run, scenario, test, verify

    for verb in (run, list_scenarios, scenario, doctor, verify, machine, clean, test):
        verb.register(app)
    try:
        code = app(standalone_mode=False)
    except TestbedError as error:
        print(f"error: {error.message}", file=sys.stderr)
        if error.hint:
            print(error.hint, file=sys.stderr)
        sys.exit(int(error.code))
    except click.UsageError as error:
        print(f"error: {error.format_message()}", file=sys.stderr)
        print("./run.sh --help lists the verbs and ./run.sh VERB --help their options.", file=sys.stderr)
        sys.exit(Exit.BAD_INPUT)
    except click.exceptions.Exit as finished:
        sys.exit(finished.exit_code)
    except (click.Abort, KeyboardInterrupt):
        print("stopped", file=sys.stderr)
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)
