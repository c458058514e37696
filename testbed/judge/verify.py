"""Judges a run again from its result folder, and says where two documents or texts differ."""

import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from testbed.documents import explain, read_json
from testbed.errors import BadInput
from testbed.judge import expected_failures
from testbed.judge.checks.result import Trust, Verdict
from testbed.judge.judge import judge
from testbed.message import Message
from testbed.plan.read import read_plan
from testbed.series import FromFile, Reader

TEXTS = ("reason", "reasons", "summary", "why")
"""Keys of texts for people."""
CODES = ("code", "codes")
"""Keys of their codes."""
NAMES = ("name", "id", "scenario")
"""Keys that name an entry of a list."""
FRACTION = re.compile(r"(-?\d+\.\d+(?:e[+-]?\d+)?)")


class Difference(Message):
    """A difference between a result folder and its data.

    ``details`` are ``where``, the place in the document or file, what is ``recorded`` there, and what the data give
    ``again``.
    """

    @property
    def key(self) -> str:
        """The last key of the place, without an index: ``reasons`` of ``trust.reasons[1]``."""
        return str(self.details["where"]).rpartition(".")[2].partition("[")[0]

    @property
    def is_wording(self) -> bool:
        """Whether it is one of a text for people, or of its code."""
        return self.code == "difference.value" and self.key in (*TEXTS, *CODES)

    @property
    def is_new(self) -> bool:
        """Whether the record does not tell it at all, or has a text without its code."""
        return self.code == "difference.not-recorded" or (self.key in CODES and not self.details.get("recorded"))


def verify(
    result_dir: Path, reader: Reader | None = None, trust: Trust | None = None, *, complete: bool = True
) -> Verdict:
    """The verdict by the folder's own data.

    The checks are judged anew from ``plan.json``, ``telemetry.lp`` (or ``reader``) and ``agents/``. How many points
    the database held can't be measured again and is taken from the record; so is ``trust``, where it is not given, and
    what was expected to fail when it was made. ``complete`` is as :func:`testbed.judge.judge.judge` has it.
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
        expected=recorded.expected,
        complete=complete,
    )


def unlisted(run: str, engine: str, form: str, recorded: Verdict) -> Iterator[Difference]:
    """Expected failures of a result that are not those of this checkout: cause or limits may have been edited."""
    listed = expected_failures.read().of_run(run, engine, form)
    for name, expected in recorded.expected.items():
        if expected != listed.get(name):
            where, made = f"checks[{name}].xfail", expected.model_dump(mode="json")
            here = listed[name].model_dump(mode="json") if name in listed else None
            yield Difference(
                "difference.expected-failure",
                f"{where}: {made!r} is recorded, {here!r} is listed here",
                where=where,
                recorded=made,
            )


def read_verdict(result_dir: Path) -> Verdict:
    """The folder's ``verdict.json``; BadInput names the field that is wrong."""
    path = result_dir / "verdict.json"
    try:
        return Verdict.from_json(read_json(path))
    except ValidationError as error:
        raise BadInput("verify.bad-check", f"{path}: {explain(error)}") from error


def recorded_database_points(recorded: Verdict) -> int | None:
    """The number of points in the database at the run's end; None without a database."""
    counts = (check.figures.get("database_points") for check in recorded.checks if check.judge == "points_stored")
    return next((count for count in counts if isinstance(count, int)), None)


def differences(where: str, recorded: Any, again: Any) -> Iterator[Difference]:
    """Differences between two documents: the recorded value and that from the data."""
    if isinstance(recorded, dict) and isinstance(again, dict):
        for key in [*recorded, *(key for key in again if key not in recorded)]:
            place = f"{where}.{key}" if where else key
            if key not in recorded and again[key] is not None:
                yield Difference(
                    "difference.not-recorded", f"{place}: is not recorded, {again[key]!r} by the data", where=place
                )
            else:
                yield from differences(place, recorded.get(key), again.get(key))
    elif isinstance(recorded, list) and isinstance(again, list):
        if len(recorded) != len(again):
            yield Difference(
                "difference.entries",
                f"{where}: {len(recorded)} entries are recorded, {len(again)} by the data",
                where=where,
                recorded=len(recorded),
            )
        for number, (a, b) in enumerate(zip(recorded, again, strict=False)):
            keys = [a[key] for key in NAMES if key in a] if isinstance(a, dict) else []
            label = keys[0] if keys else number
            yield from differences(f"{where}[{label}]", a, b)
    elif not _same(recorded, again):
        yield Difference(
            "difference.value",
            f"{where}: {recorded!r} is recorded, {again!r} by the data",
            where=where,
            recorded=recorded,
        )


def _same(recorded: Any, again: Any) -> bool:
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (recorded, again))
    # Figures are rounded to six places; a last place may still fall either way with another numpy.
    return math.isclose(recorded, again, rel_tol=1e-9, abs_tol=2e-6) if numbers else recorded == again


def text_differences(where: str, recorded: str, again: str, most: int = 3) -> Iterator[Difference]:
    """The first lines in which two texts differ, and how many more do; fractions as :func:`differences` compares
    them."""
    if recorded == again:
        return
    lines = itertools.zip_longest(recorded.splitlines(), again.splitlines())
    found = [(number, a, b) for number, (a, b) in enumerate(lines, 1) if a != b and not _same_but_rounded(a, b)]
    for number, a, b in found[:most]:
        a, b = _where_they_differ(a or "", b or "")
        yield Difference(
            "difference.line", f"{where}, line {number}: {a!r} is recorded, {b!r} by the data", where=where, recorded=a
        )
    if len(found) > most:
        yield Difference("difference.more-lines", f"{where}: {len(found) - most} more lines differ", where=where)


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
