"""Writes the page of whatever a result folder holds."""

from __future__ import annotations

from pathlib import Path

from testbed.claims.report import write_report as write_claims
from testbed.report import write_report
from testbed.tables.report import write_report as write_table


def write_page(folder: Path) -> Path:
    """Plots and ``report.html`` anew, from the folder's own files; returns the page's path.

    Raises BadInput where a file is missing or broken.
    """
    if (folder / "claims.json").is_file():
        return write_claims(folder)
    if (folder / "table.json").is_file():
        return write_table(folder)
    return write_report(folder)
