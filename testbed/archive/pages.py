"""Writes the page of whatever a result folder holds."""

from __future__ import annotations

from pathlib import Path


def write_page(folder: Path) -> Path:
    """Plots and ``report.html`` anew, from the folder's own files; returns the page's path.

    Raises BadInput where a file is missing or broken.
    """
    # What writes the pages of claims takes as long to load as a run's page to be written.
    if (folder / "claims.json").is_file():
        from testbed.study.report.page import write_claims

        return write_claims(folder)
    if (folder / "table.json").is_file():
        from testbed.study.report.page import write_table

        return write_table(folder)
    from testbed.results.report import write_report

    return write_report(folder)
