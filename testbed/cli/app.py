"""Puts the verbs together; ``./run.sh SCENARIO`` is short for ``./run.sh run SCENARIO``."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Sequence

import typer

from testbed.errors import BadInput, Exit, TestbedError, of_the_machine

app = typer.Typer(
    name="./run.sh",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Runs experiments about transport windows on links whose behaviour is measured. "
    "`./run.sh SCENARIO` runs one and ends in PASS, FAIL or UNTRUSTED.",
    epilog="Exit codes: 0 pass, 1 fail, 2 bad input or usage, 3 untrusted, 4 this machine can't run it, "
    "130 stopped by Ctrl-C.",
)


def main() -> None:
    """Run the command line; ends the process with the exit code of docs/contracts.md."""
    from testbed.cli import (
        all_claims,
        bench,
        bundle,
        clean,
        compare,
        cross_check,
        doctor,
        interop,
        list_scenarios,
        machine,
        repeatable,
        report,
        run,
        scenario,
        shell,
        sweep,
        table,
        test,
        verify,
    )

    verbs_of_their_own = (
        all_claims,
        run,
        table,
        sweep,
        list_scenarios,
        scenario,
        shell,
        doctor,
        verify,
        machine,
        clean,
        test,
        bench,
        interop,
        cross_check,
        repeatable,
        compare,
        bundle,
        report,
    )
    for verb in verbs_of_their_own:
        verb.register(app)
    verbs = [command.name for command in app.registered_commands if command.name]
    from testbed.cli import taking_turns
    from testbed.runner.interrupts import Interrupted, interruptible

    try:
        with interruptible():
            app(with_verb(sys.argv[1:], verbs), prog_name="./run.sh")  # usage errors end with 2 in here
    except Interrupted as error:
        print(f"error: {error.message}", file=sys.stderr)
        print(" ".join(["INTERRUPTED", *sys.argv[1:3]]))
        sys.exit(int(error.code))
    except TestbedError as error:
        print(f"error: {error.message}", file=sys.stderr)
        if error.hint:
            print(error.hint, file=sys.stderr)
        sys.exit(int(error.code))
    except OSError as error:
        if not (told := of_the_machine(error)):
            raise
        print(f"error: {told}", file=sys.stderr)
        sys.exit(int(Exit.CANNOT_RUN))
    finally:
        taking_turns.give_to_the_owner()


def with_verb(arguments: Sequence[str], verbs: Collection[str]) -> list[str]:
    """``startup --quick`` → ``run startup --quick``, ``speed-table`` → ``table speed-table``, and so for sweeps.

    Raises :class:`BadInput` for a misspelt verb.
    """
    first = arguments[0] if arguments else "--help"
    if first.startswith("-") or first in verbs:
        return list(arguments)
    from testbed.matrix.load import available as tables
    from testbed.matrix.load import is_table
    from testbed.scenario.load import available
    from testbed.sweep.load import available as sweeps
    from testbed.sweep.load import is_sweep

    if is_table(first):
        return ["table", *arguments]
    if is_sweep(first):
        return ["sweep", *arguments]
    scenarios = [path.stem for path in (*available(), *tables(), *sweeps())]
    near_verb = difflib.get_close_matches(first, verbs, n=1, cutoff=0.75)
    near_scenario = difflib.get_close_matches(first, scenarios, n=1, cutoff=0.75)
    if near_verb and not near_scenario and "/" not in first:
        raise BadInput(f"there is no verb or scenario {first!r}; did you mean {near_verb[0]!r}?")
    if near_scenario and (is_table(near_scenario[0]) or is_sweep(near_scenario[0])):
        raise BadInput(f"there is no scenario, table or sweep {first!r}; did you mean {near_scenario[0]!r}?")
    return ["run", *arguments]
