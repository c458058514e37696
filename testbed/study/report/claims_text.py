"""The claims as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.plan.default_engine import DEFAULT
from testbed.study.checks.beside import MODELS, TITLES
from testbed.study.checks.judged import Judged


def table_lines(claims: Sequence[Judged], engine: str) -> list[str]:
    """With what other engines measured before what ``engine`` did. Long texts are cut."""
    others = list(dict.fromkeys(other for claim in claims for other in claim.beside))
    columns = [("claim", 34), ("published", 26), ("expected", 34)]
    columns += [column for other in others for column in ((TITLES[other], 30), ("verdict", 16))]
    columns += [(TITLES[engine], 30) if others else ("measured", 44), ("N", 7), ("verdict", 21)]
    columns += [(f"from {TITLES[other]}", 28) for other in others]
    rows = [[head for head, _ in columns], *(_row(claim, others) for claim in claims)]
    widths = [min(limit, max(len(row[i]) for row in rows)) for i, (_, limit) in enumerate(columns)]
    lines = []
    for row in rows:
        cells = [f"{_cut(text, width):<{width}}" for text, width in zip(row, widths, strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    if others or engine != DEFAULT:
        lines += [f"  {TITLES[name]}: {MODELS[name]}" for name in (*others, engine)]
    return lines


def _row(claim: Judged, others: Sequence[str]) -> list[str]:
    there = [claim.beside.get(other, {}) for other in others]
    word = claim.verdict + ("" if claim.as_known is not False else " (!)")
    if claim.counted_as in ("xfail", "xpass"):
        word = f"{claim.verdict} ({claim.counted_as})"
    if claim.is_measured:
        word = "measured"
    row = [claim.id, claim.published, claim.expected]
    row += [text for found in there for text in (found.get("measured") or "–", found.get("verdict", ""))]
    return [*row, claim.measured or "–", claim.n_told, word, *(found.get("difference", "") for found in there)]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
