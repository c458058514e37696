"""Transcripts of the command line: what each command writes to standard output and standard error, and its exit code.

``sessions/NAME.txt`` is one terminal session in a folder of its own, which begins with copies of ``files/``. A line
``$ COMMAND`` is a command; below it stand its standard output (``1> ``), its standard error (``2> ``) and its exit
code (``exit N``), and lines with ``#`` say what is shown. ``./run.sh`` is called in this process, as a user without
root, or as root after ``sudo``; any other command is given to the shell. What differs from machine to machine or from
time to time stands as a placeholder (:mod:`tests.golden.transcripts.placeholders`).

To add a command, write its ``$`` line: ``python -m tests.golden transcripts`` writes what each says now.

``spellings.txt`` has every command line whose form has to stay accepted (:mod:`tests.golden.transcripts.spellings`).
"""

from __future__ import annotations

from collections.abc import Sequence

from testbed.machine.build import build_programs
from tests.golden.transcripts import session, spellings


def regenerate(beginnings: Sequence[str] = ()) -> None:
    """Write those files anew whose names begin so (``transcripts/list``), without any all; say which changed."""
    build_programs()
    written = {
        **{f"transcripts/{path.stem}": (path, session.anew) for path in session.sessions()},
        "transcripts/spellings": (spellings.FILE, spellings.anew),
    }
    for name, (path, anew) in written.items():
        if not beginnings or name.startswith(tuple(beginnings)):
            before = path.read_text(encoding="utf-8")
            if (after := anew(before)) != before:
                path.write_text(after, encoding="utf-8")
                print(f"written: {name}")
