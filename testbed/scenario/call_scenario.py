"""Carries out a scenario's Python file, which comes by stdin, and calls its ``scenario()``.

Run by ``in_python.py`` in a process of its own. Writes ``{"returned": …}`` or ``{"wrong": …}`` to stdout, which the
file itself can't reach: what that prints goes to stderr.
"""

import json
import os
import resource
import sys
import traceback
from typing import Any

MOST_MEMORY_BYTES = 4 << 30
FUNCTION = "scenario"


class Wrong(Exception):
    """A mistake in the file; the message continues from its name."""


def main(file: str, most_cpu_s: int) -> None:
    """Ends the process, whatever the file has left running in it."""
    sys.path.pop(0)  # this one's folder
    own = os.dup(1)
    os.dup2(2, 1)
    for of, bound in ((resource.RLIMIT_AS, MOST_MEMORY_BYTES), (resource.RLIMIT_CPU, most_cpu_s)):
        _, most = resource.getrlimit(of)
        resource.setrlimit(of, (bound if most == resource.RLIM_INFINITY else min(bound, most), most))
    try:
        said: dict[str, Any] = {"returned": _returned(file, sys.stdin.read())}
    except Wrong as error:
        said = {"wrong": str(error)}
    sys.stdout.flush()
    with os.fdopen(own, "w") as answer:
        json.dump(said, answer)
    os._exit(0)


def _returned(file: str, text: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": FUNCTION, "__file__": file}
    try:
        program = compile(text, file, "exec")
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
        raise Wrong(f"{line}: not Python: {getattr(error, 'msg', error)}") from error
    try:
        exec(program, names)
    except (Exception, SystemExit) as error:
        raise Wrong(f"{_line(file, error)}: can't be loaded: {_said(error)}") from error
    if not callable(names.get(FUNCTION)):
        raise Wrong(f": has no function {FUNCTION}(); it is to return the scenario, with the keys of a YAML file")
    try:
        returned = names[FUNCTION]()
    except (Exception, SystemExit) as error:
        raise Wrong(f"{_line(file, error)}: {FUNCTION}() raised {_said(error)}") from error
    try:
        written = _written(returned, "")
    except RecursionError as error:
        raise Wrong(f": {FUNCTION}() returned something that is a part of itself, or too deep") from error
    if not isinstance(written, dict):
        raise Wrong(f": {FUNCTION}() returned {_kind(returned)}; return a dict, with the keys of a YAML file")
    return written


def _written(value: Any, where: str) -> Any:
    """The JSON of a value; raises :class:`Wrong` for values that YAML can't express."""
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):  # others derive from them, numpy's float as well
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise Wrong(f": {where or FUNCTION + '()'}: the key {key!r} is {_kind(key)}; keys are texts")
        return {str(key): _written(each, f"{where}.{key}".lstrip(".")) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_written(each, f"{where}.{_label(each, number)}") for number, each in enumerate(value, start=1)]
    if not where:
        return value
    raise Wrong(
        f": {where}: {_kind(value)} is nothing that a scenario says; write a text ('50ms'), a number, True, False, "
        "a list or a dict"
    )


def _label(item: Any, number: int) -> str:
    """The item's name, if it has one, else its number, as other messages use them."""
    return str(item["name"] if isinstance(item, dict) and "name" in item else number)


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _line(file: str, error: BaseException) -> str:
    """``:12``: the innermost line of the file that an error came through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f":{lines[-1]}" if lines else ""


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
