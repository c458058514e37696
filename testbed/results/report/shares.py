"""Tables of shares at round times: by the law, measured, and published where that is known."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from testbed.judge.checks.planned import session_of
from testbed.results.report.folder import ResultFolder
from testbed.results.report.published_shares import PublishedShare, published_shares


@dataclass(frozen=True)
class ShareTable:
    """One check's table: rows by time; ``published`` lists who published, as the columns' heads."""

    check: str
    tolerance: float
    connections: list[str]
    rows: list[dict[str, Any]]
    sources: list[str]


def share_tables(folder: ResultFolder) -> list[ShareTable]:
    """A table per check that compared shares with the law."""
    tables = []
    for check in folder.verdict.checks:
        shares = check.figures.get("shares")
        if not shares:
            continue
        session = session_of(folder.plan, check.figures.get("session"))
        published = published_shares(folder.plan["scenario"], session["policy"])
        tables.append(_table(check.name, check.tolerance or 0.0, shares, published))
    return tables


def _table(name: str, tolerance: float, shares: list[dict[str, Any]], published: list[PublishedShare]) -> ShareTable:
    by_time: dict[float, dict[str, dict[str, Any]]] = defaultdict(dict)
    for share in shares:
        error = share["measured"] - share["law"]
        by_time[share["t_s"]][share["connection"]] = {**share, "error": error, "off": abs(error) > tolerance}
    connections = list(dict.fromkeys(share["connection"] for share in shares))
    known = [p for p in published if p.t_s in by_time]
    sources = list(dict.fromkeys(p.measured_by for p in known))
    rows = [
        {
            "t_s": t_s,
            "shares": [by_time[t_s].get(c) for c in connections],
            "published": [
                ", ".join(f"{p.share:.3f}" for p in known if p.t_s == t_s and p.measured_by == source)
                for source in sources
            ],
        }
        for t_s in sorted(by_time)
    ]
    return ShareTable(name, tolerance, connections, rows, sources)
