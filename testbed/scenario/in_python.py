"""A scenario written in Python: a file whose function ``scenario()`` returns what a YAML file would say.

The file is executed where the user names it, in a process of its own. A result has the whole scenario as YAML; its
file is executed where it is trusted, without rights (:mod:`testbed.confine`).
"""

import io
import json
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from testbed import confine, unprivileged
from testbed.errors import BadInput
from testbed.scenario import bounded
from testbed.scenario.files import read
from topologies.own_code import who_else_may_write

MOST_CPU_S = 10
"""Limit of a call, which takes some hundredths of a second."""
LIMIT_S = 120.0
"""Limit of a call that waits for something, however busy the machine is."""
CALL = Path(__file__).with_name("call_scenario.py")


def document_of(path: Path) -> dict[str, Any]:
    """The result of the file's ``scenario()``, as a YAML file of it would be read; raises :class:`BadInput`.

    It is called twice, each time in a new process, and has to return the same.
    """
    without_rights = confine.code(path, "scenario")
    if not without_rights and (error := who_else_may_write(path)):
        raise BadInput("scenario.python-not-readable", f"{path}: {error}")
    program = read(path)
    if len(program) > bounded.MOST_CHARACTERS:
        raise BadInput("scenario.python-too-long", f"{path}: longer than {bounded.MOST_CHARACTERS} characters")
    return _as_read(path, _agreed(path, program, without_rights))


@cache
def _agreed(path: Path, program: str, without_rights: bool) -> str:
    """The result of both calls, as JSON."""
    first, second = (_returned(path, program, call, without_rights) for call in range(2))
    if first != second:
        raise BadInput(
            "scenario.python-differs",
            f"{path}: {_difference(json.loads(first), json.loads(second))} when scenario() is called again, so no run "
            "could be repeated",
            "Leave out the time, chance without a seed, and the order of sets.",
        )
    return first


def _difference(first: Any, second: Any, where: str = "") -> str:
    """The innermost place at which two calls' values differ, with both."""
    if isinstance(first, dict) and isinstance(second, dict) and list(first) == list(second):
        parts = [(f"{where}.{key}".lstrip("."), first[key], second[key]) for key in first]
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        parts = [(f"{where}.{n}", *both) for n, both in enumerate(zip(first, second, strict=True), start=1)]
    else:
        return f"{where or 'scenario()'}: {first!r:.80}, and {second!r:.80}"
    return next(_difference(a, b, at) for at, a, b in parts if json.dumps(a) != json.dumps(b))


def _returned(path: Path, program: str, call: int, without_rights: bool) -> str:
    """The JSON that a call returns. What it prints goes to stderr, of the second call nowhere."""
    try:
        done = _called(path, program, call, without_rights)
    except subprocess.TimeoutExpired as error:
        raise BadInput(
            "scenario.python-timeout",
            f"{path}: scenario() has not returned after {LIMIT_S:g} s; what does it wait for?",
        ) from error
    if done.returncode == -signal.SIGXCPU:
        raise BadInput(
            "scenario.python-cpu-limit",
            f"{path}: scenario() has not returned after {MOST_CPU_S} s of computing; does it loop for ever?",
        )
    try:
        said = json.loads(done.stdout)
        if "wrong" in said:
            raise BadInput("scenario.python-failed", f"{path}{said['wrong']}")
        return json.dumps(said["returned"])
    except (ValueError, TypeError, KeyError) as error:
        raise BadInput(
            "scenario.python-ended",
            f"{path}: its process ended before scenario() returned (exit code {done.returncode})",
            "Leave out what ends a process, and let scenario() return a dict.",
        ) from error


def _called(path: Path, program: str, call: int, without_rights: bool) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CALL), str(path), str(MOST_CPU_S)]
    if without_rights:
        return unprivileged.call(command, program, {"PYTHONHASHSEED": str(call)}, LIMIT_S)
    return subprocess.run(
        command,
        input=program,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if call else None,
        encoding="utf-8",
        errors="replace",
        timeout=LIMIT_S,
        env={**os.environ, "PYTHONHASHSEED": str(call), "PYTHONIOENCODING": "utf-8"},
        check=False,
    )


def _as_read(path: Path, returned: str) -> dict[str, Any]:
    """The scenario as YAML, within its bounds: results keep that, so that is read. Its lines are none of the file's."""
    if len(returned) > bounded.MOST_CHARACTERS:
        raise BadInput(
            "scenario.python-result-too-long",
            f"{path}: what scenario() returned is longer than {bounded.MOST_CHARACTERS} characters",
        )
    text = io.StringIO()
    YAML().dump(json.loads(returned), text)
    try:
        return dict(bounded.load(text.getvalue()))
    except bounded.NotYaml as error:
        raise BadInput.of(error.said.at(f"{path}: what scenario() returned")) from error
