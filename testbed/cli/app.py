"""Puts the verbs together; ``./run.sh SCENARIO`` is short for ``./run.sh run SCENARIO``.

For the sake of start-up time only the requested verb is imported, and a scenario's kind follows from its file alone:
all verbs together import most of the testbed, Matplotlib and Docker's client included. A verb that does several things
imports inside its function what only one of them needs, for the same reason.
"""

import difflib
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from inspect import getdoc
from itertools import takewhile
from pathlib import Path
from typing import Any

import typer

from testbed import paths
from testbed.cli import wrong_usage
from testbed.errors import CODE_FILE, BadInput, TestbedError, of_the_machine
from testbed.exit_codes import Exit
from testbed.runtime.interrupts import Interrupted, interruptible
from testbed.runtime.terminal import only_printable
from testbed.scenario import files

MADE = (".build", ".venv", "peers/npm-ncp/node_modules", "peers/ndn/node_modules", "results")
"""Folders that set-up, builds and runs make in a checkout."""


def give_to_the_owner(checkout: Path = paths.CHECKOUT) -> None:
    """Give root's files in another user's clone to that user, as root."""
    owner = checkout.stat()
    if os.geteuid() != 0 or owner.st_uid == 0:
        return
    for top in (checkout / name for name in MADE if (checkout / name).is_dir()):
        _give(top, owner)
        # By open folders: no link that is put in a folder's place meanwhile leads out of the checkout.
        for _, folders, names, opened in os.fwalk(top):
            for entry in (*folders, *names):
                _give(entry, owner, opened)


def _give(path: str | Path, owner: os.stat_result, folder: int | None = None) -> None:
    with suppress(OSError):  # it is gone again, or the disk is read-only
        found = os.stat(path, dir_fd=folder, follow_symlinks=False)
        if found.st_uid == 0:
            os.chown(path, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)


GROUPS = {
    "Every day": {"run": "run", "list": "list_scenarios", "show": "scenario", "compare": "compare", "verify": "verify"},
    "Many runs": {"table": "table", "sweep": "table", "all": "all_claims", "bench": "bench"},
    "Results": {"report": "report", "export": "export", "bundle": "bundle", "reference": "all_claims"},
    "This machine": {
        "doctor": "machine",
        "up": "machine",
        "down": "machine",
        "clean": "machine",
        "shell": "machine",
        "guest": "guest",
        "selftest": "guest",
        "completion": "completion",
    },
    "Bring in, hand out": {"graph": "graph", "import": "graph"},
    "Work on the testbed": {"new": "new", "validate": "scenario", "docs": "docs", "conform": "conform", "test": "test"},
    "Many machines": {"cluster": "cluster"},  # last, as Typer shows verbs with verbs of their own there
}
"""The verbs as the help shows them: group → verb → the module in here that has it."""

FORMS = {"--engines": "cross-check", "--same-bytes": "repeatable"}
"""Options by which ``compare`` has another form, with options of its own, and the name that each form has alone."""

VERBS = {
    **{verb: module for group in GROUPS.values() for verb, module in group.items()},
    **dict.fromkeys(FORMS.values(), "compare"),
}
"""Verb → module, with those that the help does not show."""


def main() -> None:
    """Run the command line; ends the process with the exit code of docs/contracts.md."""
    with only_printable():
        _main()


def _main() -> None:
    try:
        with interruptible():
            arguments = with_place(with_verb([renamed(argument) for argument in sys.argv[1:]]))
            sys.exit(carry_out(arguments))
    except Interrupted as error:
        print(f"error: {error.message}", file=sys.stderr)
        print(" ".join(["INTERRUPTED", *takewhile(lambda word: not word.startswith("-"), sys.argv[1:3])]))
        sys.exit(int(error.exit_code))
    except TestbedError as error:
        _leave_code(error)
        print(f"error: {error.message}", file=sys.stderr)
        if hint := error.hint or _what_next(error):
            print(hint, file=sys.stderr)
        sys.exit(int(error.exit_code))
    except OSError as error:
        if not (reported := of_the_machine(error)):
            raise
        print(f"error: {reported}", file=sys.stderr)
        sys.exit(int(Exit.CANNOT_RUN))
    finally:
        give_to_the_owner()


def _leave_code(error: TestbedError) -> None:
    """Write the error's code for the program that started this command. A full disk, which may be the error, must not
    hide it."""
    if file := os.environ.get(CODE_FILE):
        with suppress(OSError):
            Path(file).write_text(error.code)


def _what_next(error: TestbedError) -> str:
    """The hint for an error without one."""
    if not isinstance(error, BadInput):
        return ""
    verb = sys.argv[1] if sys.argv[1:] and sys.argv[1] in VERBS else ""
    return f"./run.sh {f'{verb} ' if verb else ''}--help has all."


def carry_out(arguments: Sequence[str]) -> int:
    """Do what the arguments say, a verb first; returns the exit code. Raises :class:`BadInput` for a wrong usage."""
    app = command_line(arguments[0] if arguments else None)
    try:
        code = app(list(arguments), prog_name="./run.sh", standalone_mode=False)
    except wrong_usage.NoArguments as error:  # Typer has shown the help
        print(error.format_message())
        return Exit.BAD_INPUT
    except wrong_usage.UsageError as error:
        raise wrong_usage.as_bad_input(error, arguments) from error
    return int(code or 0)


def command_line(verb: str | None) -> typer.Typer:
    """The command line with the requested verb; with all of them, as the help shows them, where it is none."""
    app = typer.Typer(
        name="./run.sh",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help="Runs experiments about transport windows on links whose behaviour is measured. "
        "`./run.sh SCENARIO` runs one and ends in PASS, FAIL or UNTRUSTED.\n\n\b\nFor example:\n"
        "  ./run.sh list                    what there is to run\n"
        "  ./run.sh startup --engine sim    the first experiment, in seconds\n"
        "  ./run.sh show startup            what it does, as a drawing and in words\n"
        "  ./run.sh new mine                an experiment of your own to begin with",
        epilog="Exit codes: 0 pass, 1 fail, 2 bad input or usage, 3 untrusted, 4 this machine can't run it, "
        "130 stopped by Ctrl-C.",
    )
    app.callback()(lambda: None)  # else Typer leaves out the name of a verb that is the only one
    for name in [verb] if verb in VERBS else VERBS:
        panel = next((group for group, verbs in GROUPS.items() if name in verbs), None)
        function = _function(name)
        if isinstance(function, typer.Typer):
            app.add_typer(function, name=name, rich_help_panel=panel)
        else:
            shown = wrong_usage.in_the_help(name, getdoc(function) or "")
            app.command(name, help=shown, rich_help_panel=panel, hidden=panel is None)(function)
    return app


def _function(verb: str) -> Any:
    """Find a verb's function by the verb's name in its module; a ``_`` follows a name that Python has."""
    module, name = import_module(f"testbed.cli.{VERBS[verb]}"), verb.replace("-", "_")
    return getattr(module, name, None) or getattr(module, f"{name}_")


def with_verb(arguments: Sequence[str]) -> list[str]:
    """``startup --quick`` → ``run startup --quick``, ``speed-table`` → ``table speed-table``, and so for sweeps; also
    where ``run`` is said.

    Raises :class:`BadInput` for a misspelt verb.
    """
    first = arguments[0] if arguments else "--help"
    if first == "compare":
        return _form_of_compare(arguments)
    if first.startswith("-") or (first in VERBS and first != "run"):
        return list(arguments)
    rest = list(arguments[1:] if first == "run" else arguments)
    # After `run` it may stand behind options, whose values are never a table's name or file.
    for name in rest if first == "run" else [first]:
        if files.is_table(name):
            return ["table", *rest]
        if files.is_sweep(name):
            return ["sweep", *rest]
    if first == "run":
        return list(arguments)
    known = [path.stem for path in (*files.scenarios(), *files.links(), *files.tables(), *files.sweeps())]
    near_verb = difflib.get_close_matches(first, VERBS, n=1, cutoff=0.75)
    near_scenario = difflib.get_close_matches(first, known, n=1, cutoff=0.75)
    if near_verb and not near_scenario and "/" not in first:
        raise BadInput("cli.no-such-verb", f"there is no verb or scenario {first!r}; did you mean {near_verb[0]!r}?")
    if near_scenario and (files.is_table(near_scenario[0]) or files.is_sweep(near_scenario[0])):
        raise BadInput(
            "cli.no-such-name", f"there is no scenario, table or sweep {first!r}; did you mean {near_scenario[0]!r}?"
        )
    return ["run", *arguments]


def renamed(argument: str) -> str:
    """An argument; where it is the path of what the checkout had in a folder of another name, the path today."""
    today = paths.renamed(argument)
    return today if not os.path.lexists(argument) and Path(today).exists() else argument


def with_place(arguments: Sequence[str]) -> list[str]:
    """``--cluster slurm`` → ``--cluster=slurm``, and ``--cluster`` alone → ``--cluster=hosts``: its value may be left
    out, and what stands behind it may be a scenario."""
    placed: list[str] = []
    for argument in arguments:
        if placed and placed[-1] == "--cluster=hosts" and re.fullmatch(r"slurm(:.*)?", argument):
            placed[-1] = f"--cluster={argument}"
        else:
            placed.append("--cluster=hosts" if argument == "--cluster" else argument)
    return placed


def _form_of_compare(arguments: Sequence[str]) -> list[str]:
    """``compare --engines sim,vkernel startup`` → ``cross-check …``, ``compare --same-bytes startup`` → ``repeatable
    …``."""
    for option, verb in FORMS.items():
        if any(argument.partition("=")[0] == option for argument in arguments):
            return [verb, *(argument for argument in arguments[1:] if argument != "--same-bytes")]
    return list(arguments)
