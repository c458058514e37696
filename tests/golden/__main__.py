"""Writes the golden files: ``python -m tests.golden [NAME]…``, all of them or those whose names begin so; and
``messages.tsv``."""

from __future__ import annotations

import sys

from tests.golden import guest, messages, transcripts
from tests.golden.recorded import FOLDER, made


def main(*beginnings: str) -> None:
    """Write them, and say which changed; files of what is no longer there go."""
    files = made()
    if not beginnings or "messages".startswith(beginnings):
        messages.write()
    if not beginnings or guest.RECORDED.name.startswith(beginnings):
        guest.write()
    for old in FOLDER.rglob("*.json"):
        if str(old.relative_to(FOLDER)) not in files and "guest" not in old.name:
            old.unlink()
            print(f"gone: {old.name}")
    for name, make in files.items():
        if not beginnings or name.startswith(beginnings):
            file, found = FOLDER / name, make()
            if not file.is_file() or file.read_text(encoding="utf-8") != found:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(found, encoding="utf-8")
                print(f"written: {name}")
    transcripts.regenerate(beginnings)


if __name__ == "__main__":
    main(*sys.argv[1:])
