"""What a transcript may not depend on, each replaced by a placeholder that names it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from testbed import paths

RULES: tuple[tuple[str, str], ...] = (
    # Colours, which Rich writes where GITHUB_ACTIONS is set.
    (r"\x1b\[[0-9;]*m", ""),
    # Run ids: of the wall clock, and of plan and code.
    (r"\b20\d{6}-\d{6}-[0-9a-f]{4}\b", "<run>"),
    (r"\bsim-[0-9a-f]{12}\b", "<sim run>"),
    (r"\bsweep-[0-9a-f]{12}\b", "<sweep run>"),
    # A long step tells every 10 s how far it is.
    (r"(?m)^  .{22} … .*\n", ""),
    # Steps of a run: wall time, CPU time, and virtual time over CPU time.
    (r"(?m)^(  .{22}) +\d+\.\d s\b", r"\1 <seconds> s"),
    (r"\b\d+\.\d\d s of CPU \(\d+ × real time\)", "<seconds> s of CPU (<factor> × real time)"),
    (r"\bfailed after \d+\.\d s", "failed after <seconds> s"),
    (r'("event": "step_ended", "step": "[^"]*", "seconds":) [\d.]+', r"\1 <seconds>"),
    (r"\b(\d+ runs) in \d+\.\d s, \d+\.\d\d s each", r"\1 in <seconds> s, <seconds> s each"),
    (r"(?m)^(  \[\d+/\d+\] .*, )\d+ s$", r"\1<seconds> s"),
    # When a run was judged.
    (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "<time>"),
    # How long the runs that are left take, from those that were made.
    (r"  about \d+ (s|min) left\b", ""),
    (r'"left_s": [\d.]+', '"left_s": <seconds>'),
    # Sizes of compressed files.
    (r"(?m)\b\d+\.\d MiB$", "<size> MiB"),
    # Of a key that signs.
    (r"\bSHA256:[A-Za-z0-9+/]{43}", "<key>"),
    # Of the code: its commit, and whether it has changes.
    (r"\bcommit(:?) [0-9a-f]{12}\b( with changes that are not committed)?", r"commit\1 <commit>"),
    # Of all data of a run, its id included.
    (r"the same bytes \([0-9a-f]{16}\)", "the same bytes (<digest>)"),
)
"""Pattern → what stands instead, in this order."""


def with_placeholders(text: str, folder: Path) -> str:
    """The text of a command in ``folder``, the same on every machine."""
    text = "".join(_last_samples(text.splitlines(keepends=True)))
    for place, name in ((folder, "<here>"), (folder.parent / "state", "<state>"), (paths.CHECKOUT, "<checkout>")):
        text = text.replace(str(place), name)
    for pattern, placeholder in RULES:
        text = re.sub(pattern, placeholder, text)
    return text


def _last_samples(lines: list[str]) -> Iterator[str]:
    """Of the samples that ``--json`` writes each second of wall time, the last of each connection."""
    last = {key: number for number, line in enumerate(lines) if (key := _sampled(line))}
    return (line for number, line in enumerate(lines) if (key := _sampled(line)) is None or last[key] == number)


def _sampled(line: str) -> tuple[str, str] | None:
    """Session and connection of a sample; None of any other line."""
    if not line.startswith('{"event": "sample"'):
        return None
    event = json.loads(line)
    return event["session"], event["connection"]
