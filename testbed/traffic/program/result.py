"""Reads a program's result from its folder, without trust."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from line_protocol_parser import LineFormatError, parse_line
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from testbed.documents import explain
from testbed.errors import RunFailed
from testbed.plan.model import Plan
from testbed.points import Point, point
from testbed.traffic.program.end import RESULT, TELEMETRY

MOST_RESULT_BYTES = 1 << 20
MOST_TELEMETRY_BYTES = 64 << 20
MOST_KEPT_BYTES = 256 << 20
"""Largest size of all that an end leaves."""

UnixNs = Annotated[int, Field(ge=0, lt=2**63)]
FigureName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class Result(BaseModel):
    """``result.json``; keys that are not known are left alone."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, allow_inf_nan=False)

    bytes: Annotated[int, Field(ge=0, lt=2**63)]
    """Payload bytes: sent by the sender, received by the receiver."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    started_unix_ns: UnixNs
    finished_unix_ns: UnixNs
    version: Annotated[str, Field(max_length=200)] = ""
    figures: dict[FigureName, float] = Field(default_factory=dict, max_length=32)
    """Further numbers for the verdict, the unit at the end of each name."""

    @model_validator(mode="after")
    def _in_order(self) -> Result:
        if self.finished_unix_ns < self.started_unix_ns:
            raise ValueError("finished_unix_ns is before started_unix_ns")
        return self


def read_result(out: Path, who: str) -> Result:
    """An end's report; raises :class:`RunFailed` with the fault and the right form."""
    path = out / RESULT
    try:
        return Result.model_validate(json.loads(_text(path, MOST_RESULT_BYTES)))
    except OSError as error:
        raise RunFailed(
            "program.no-result", f"{who} left no {RESULT} in $OUT ({error.strerror or error})", _HINT
        ) from error
    except ValidationError as error:
        raise RunFailed("program.bad-result", f"{who}: {RESULT}: {explain(error)}", _HINT) from error
    except ValueError as error:
        raise RunFailed("program.result-not-json", f"{who}: {RESULT} is not JSON: {error}", _HINT) from error


_HINT = "docs/program.md says what belongs in it; ./run.sh conform checks a program against the contract."


TICK_NS = 10_000_000


def appeared_unix_ns(out: Path, said: Result) -> int:
    """The time at which the result was there, by the kernel's own clock: a program can set the time of its last change,
    and not this. It is that of the kernel's last tick, so an end may seem that much later."""
    tick_ns = (out / RESULT).lstat().st_ctime_ns
    return max(tick_ns, min(said.finished_unix_ns, tick_ns + TICK_NS))


def own_points(out: Path, plan: Plan, tags: Mapping[str, str], who: str) -> Iterator[Point]:
    """The points of the program's ``telemetry.lp``, as the run's: each measurement has ``program_`` before its name,
    and the run's own tags. Raises :class:`RunFailed` for a line that is none."""
    path = out / TELEMETRY
    if not path.exists() and not path.is_symlink():
        return
    try:
        text = _text(path, MOST_TELEMETRY_BYTES)
    except (OSError, ValueError) as error:
        raise RunFailed("program.telemetry-not-readable", f"{who}: {TELEMETRY} can't be read: {error}") from error
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found = parse_line(line)
        except LineFormatError as error:
            raise RunFailed(
                "program.bad-telemetry-line",
                f"{who}: {TELEMETRY}:{number}: {line[:80]!r} is not line protocol: {error}",
            ) from error
        if not found["time"]:
            raise RunFailed(
                "program.telemetry-without-time",
                f"{who}: {TELEMETRY}:{number}: has no time; end the line with Unix nanoseconds",
            )
        own_tags = {**found["tags"], "run": plan["run"], "scenario": plan["scenario"], **tags}
        yield point(f"program_{found['measurement']}", own_tags, found["fields"], found["time"])


def keep(out: Path) -> list[str]:
    """Make what an end left harmless to whoever reads the results: files alone, root's, and not too many bytes.
    Returns what was removed, in words."""
    removed, left = [], MOST_KEPT_BYTES
    for folder, names, files in os.walk(out):
        os.chown(folder, os.geteuid(), os.getegid())
        Path(folder).chmod(0o755)
        for name in files + [name for name in names if Path(folder, name).is_symlink()]:
            path = Path(folder, name)
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or status.st_size > left:
                path.unlink()
                removed.append(str(path.relative_to(out)))
                continue
            left -= status.st_size
            os.chown(path, os.geteuid(), os.getegid())
            path.chmod(0o644)
    return removed


def _text(path: Path, most_bytes: int) -> str:
    """A file of a program's; what a link leads to is not the program's to show."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a file")
        if status.st_size > most_bytes:
            raise ValueError(f"it has {status.st_size:,} bytes; {most_bytes:,} at most")
        return file.read(most_bytes).decode(errors="replace")
