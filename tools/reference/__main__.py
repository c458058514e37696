"""``python -m tools.reference`` makes the pages."""

from __future__ import annotations

from testbed import paths
from tools.reference import checks, fields, options, series, sources

FOLDER = paths.CHECKOUT / "docs"
PAGES = {
    "checks.md": checks.page,
    "fields.md": fields.page,
    "options.md": options.page,
    "series.md": series.page,
    "sources.md": sources.page,
}
"""Each page and what makes it."""


if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
