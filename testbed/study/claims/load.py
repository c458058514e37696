"""Reads ``data/published/claims.yaml``; no claim may point at a run or a check that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from testbed import paths
from testbed.errors import BadInput
from testbed.scenario import files
from testbed.scenario import load as scenarios
from testbed.scenario.load import parse, validated
from testbed.study.claims.model import Claim, Claims, RunSpec
from testbed.study.sweep import load as sweeps
from testbed.study.tables import load as tables

FILE = paths.CHECKOUT / "data" / "published" / "claims.yaml"
MOST_CHARACTERS = 1 << 18
"""The project's own file of all claims is longer than any scenario may be."""


def load(path: Path = FILE, only: Sequence[str] = ()) -> Claims:
    """All claims, or those whose id is named; raises :class:`BadInput` that names what is wrong."""
    text = path.read_text(encoding="utf-8")
    document = parse(path, text, "it is a mapping with sources, runs, claims", MOST_CHARACTERS)
    claims = validated(Claims, path, document)
    there = {name: _what_there_is(run) for name, run in claims.runs.items()}
    for name, claim in claims.claims.items():
        if wrong := dangling(claim, claims.runs[claim.run], there[claim.run]):
            raise BadInput("claims.bad-claim", "{path}: claims.{claim}: {wrong}", path=path, claim=name, wrong=wrong)
    for name in only:
        if name not in claims.claims:
            close = difflib.get_close_matches(name, claims.claims, n=1, cutoff=0.5)
            guess = f"; did you mean {close[0]!r}?" if close else ""
            raise BadInput(
                "claims.no-such-claim",
                "--only: there is no claim {claim!r}{guess}",
                "./run.sh all --dry-run lists them",
                claim=name,
                guess=guess,
            )
    return claims.chosen(list(only))


def kind_of(run: RunSpec) -> str:
    """``table``, ``sweep`` or ``scenario``."""
    if files.is_table(run.run):
        return "table"
    return "sweep" if files.is_sweep(run.run) else "scenario"


class WhatThereIs(NamedTuple):
    """Of a run: the names of its checks, a table's rows, and what is wrong with it."""

    checks: list[str]
    rows: list[str]
    wrong: str = ""


def dangling(claim: Claim, run: RunSpec, there: WhatThereIs) -> str | None:
    """What of it points at nothing, in words; None where all is there."""
    if there.wrong:
        return f"run {claim.run}: {there.wrong}"
    if claim.check is not None and claim.check not in there.checks:
        return f"check {claim.check!r}: {run.run} has no such check; it has {', '.join(there.checks)}"
    for also in claim.xfail.also if claim.xfail else ():
        if also not in there.checks:
            return f"xfail.also: {run.run} has no check {also!r}; it has {', '.join(there.checks)}"
    if kind_of(run) != "table":
        return None if claim.judge is None else f"judge: {run.run} is no table, so it has no cells; name its check"
    check = claim.table_check("it")
    for name in (*((check and check.rows) or ()), *run.rows, *run.quick.rows):
        if name not in there.rows:
            return f"there is no row {name!r} in {run.run}"
    return None


def _what_there_is(run: RunSpec) -> WhatThereIs:
    quick = [*run.set, *run.quick.set]
    try:
        if kind_of(run) == "table":
            tables.load(run.run, quick, quick=True)
            table = tables.load(run.run, run.set).table
            return WhatThereIs([check.name for check in table.checks], [row.name for row in table.rows])
        if kind_of(run) == "scenario":
            scenarios.load(run.run, quick, quick=True)
            return WhatThereIs([check.name for check in scenarios.load(run.run, run.set).scenario.checks], [])
        sweeps.load(run.run, run.set, quick=True)
        return WhatThereIs(sweeps.load(run.run, run.set).sweep.checks, [])
    except BadInput as error:
        return WhatThereIs([], [], error.message)
