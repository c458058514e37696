"""Judges a result folder again, from nothing but the folder, and compares with the verdict it holds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from testbed.checks.judge import judge
from testbed.checks.result import Verdict
from testbed.errors import BadInput
from testbed.series import FromFile

NOT_RECORDED = "is not recorded"


def verify(result_dir: Path) -> tuple[Verdict, list[str]]:
    """The verdict by the folder's own data, and every difference from its ``verdict.json``, in words.

    The checks are judged anew from ``plan.json``, ``telemetry.lp`` and ``agents/``. Two things can't be
    measured again from a folder and are taken from the record: whether the run was trusted, and how many
    points the database held. Raises BadInput where a file is missing or broken.
    """
    plan = read_json(result_dir / "plan.json")
    recorded = read_verdict(result_dir)
    if recorded.broken:
        raise BadInput(f"{result_dir}: there is no verdict to verify: the run broke down: {recorded.broken}")
    reader = FromFile(result_dir / "telemetry.lp")
    again = judge(
        plan,
        reader,
        result_dir / "agents",
        recorded.trust,
        file_points=reader.count_points(),
        database_points=_recorded_database_points(recorded),
    )
    now = again.to_json()
    if not recorded.figures:  # of a folder from before verdicts had them
        now["figures"] = {}
    return again, list(differences("", recorded.to_json(), now))


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; BadInput says what is wrong."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such file; a result folder has one") from None
    except ValueError as error:
        raise BadInput(f"{path}: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadInput(f"{path}: should be a JSON object")
    return document


def read_verdict(result_dir: Path) -> Verdict:
    """The folder's ``verdict.json``; BadInput names the field that is wrong."""
    path = result_dir / "verdict.json"
    try:
        return Verdict.from_json(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise BadInput(f"{path}: {where}: {first['msg']}") from error


def _recorded_database_points(recorded: Verdict) -> int | None:
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
