"""``python -m tools.reference`` makes the pages, and with ``--check`` tells which are not current."""

from __future__ import annotations

import sys

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


def main() -> int:
    """Write the pages, or with ``--check`` name those that are not current; returns the exit code."""
    texts = {FOLDER / name: page() for name, page in PAGES.items()}
    if sys.argv[1:] == ["--check"]:
        old = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
        print(*(f"{path}: is not current; python -m tools.reference makes it\n" for path in old), sep="", end="")
        return bool(old)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
