"""Judges a run again from its result folder, and says in words where two documents or texts differ."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from testbed.checks.judge import judge
from testbed.checks.result import Trust, Verdict
from testbed.documents import read_json
from testbed.errors import BadInput
from testbed.plan.read import read_plan
from testbed.series import FromFile, Reader

NOT_RECORDED = "is not recorded"
FRACTION = re.compile(r"(-?\d+\.\d+(?:e[+-]?\d+)?)")


def verify(result_dir: Path, reader: Reader | None = None, trust: Trust | None = None) -> Verdict:
    """The verdict by the folder's own data.

    The checks are judged anew from ``plan.json``, ``telemetry.lp`` (or ``reader``) and ``agents/``. How many points
    the database held can't be measured again and is taken from the record; so is ``trust``, where it is not given.
    Raises BadInput where a file is missing or broken.
    """
    recorded = read_verdict(result_dir)
    reader = reader or FromFile(result_dir / "telemetry.lp")
    return judge(
        read_plan(result_dir / "plan.json"),
        reader,
        result_dir / "agents",
        trust or recorded.trust,
        file_points=reader.count_points(),
        database_points=recorded_database_points(recorded),
    )


def read_verdict(result_dir: Path) -> Verdict:
    """The folder's ``verdict.json``; BadInput names the field that is wrong."""
    path = result_dir / "verdict.json"
    try:
        return Verdict.from_json(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise BadInput(
            "verify.bad-check", "{path}: {where}: {error}", path=path, where=where, error=first["msg"]
        ) from error


def recorded_database_points(recorded: Verdict) -> int | None:
    """How many points the database held when the run ended; None where none took part."""
    for check in recorded.checks:
        if check.judge == "points_stored" and isinstance(check.figures.get("database_points"), int):
            return int(check.figures["database_points"])
    return None


def differences(where: str, recorded: Any, again: Any) -> Iterator[str]:
    """Where two documents differ, in words: which value is recorded, and which comes from the data."""
    if isinstance(recorded, dict) and isinstance(again, dict):
        for key in [*recorded, *(key for key in again if key not in recorded)]:
            place = f"{where}.{key}" if where else key
            if key not in recorded and again[key] is not None:
                yield f"{place}: {NOT_RECORDED}, {again[key]!r} by the data"
            else:
                yield from differences(place, recorded.get(key), again.get(key))
    elif isinstance(recorded, list) and isinstance(again, list):
        if len(recorded) != len(again):
            yield f"{where}: {len(recorded)} entries are recorded, {len(again)} by the data"
        for number, (a, b) in enumerate(zip(recorded, again, strict=False)):
            label = a.get("name", number) if isinstance(a, dict) else number
            yield from differences(f"{where}[{label}]", a, b)
    elif not _same(recorded, again):
        yield f"{where}: {recorded!r} is recorded, {again!r} by the data"


def _same(recorded: Any, again: Any) -> bool:
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (recorded, again))
    # Figures are rounded to six places; a last place may still fall either way with another numpy.
    return math.isclose(recorded, again, rel_tol=1e-9, abs_tol=2e-6) if numbers else recorded == again


def text_differences(where: str, recorded: str, again: str, most: int = 3) -> Iterator[str]:
    """The first lines in which two texts differ, and how many more do; fractions as :func:`differences` compares
    them."""
    if recorded == again:
        return
    lines = itertools.zip_longest(recorded.splitlines(), again.splitlines())
    found = [(number, a, b) for number, (a, b) in enumerate(lines, 1) if a != b and not _same_but_rounded(a, b)]
    for number, a, b in found[:most]:
        a, b = _where_they_differ(a or "", b or "")
        yield f"{where}, line {number}: {a!r} is recorded, {b!r} by the data"
    if len(found) > most:
        yield f"{where}: {len(found) - most} more lines differ"


def _same_but_rounded(a: str | None, b: str | None) -> bool:
    parts, others = FRACTION.split(a or ""), FRACTION.split(b or "")
    if a is None or b is None or len(parts) != len(others):
        return False
    numbers = zip(parts[1::2], others[1::2], strict=True)
    return parts[::2] == others[::2] and all(x == y or _same(float(x), float(y)) for x, y in numbers)


def _where_they_differ(a: str, b: str, shown: int = 80) -> tuple[str, str]:
    """Both lines from a little before the first character that differs."""
    same = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))))
    start = max(0, same - shown // 4)
    return a[start : start + shown], b[start : start + shown]
