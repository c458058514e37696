"""``go test -json``, told as ``go test`` tells it, with each skip judged by its reason."""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from testbed import paths
from testbed.cli.skips import objection
from testbed.errors import Exit

SAID = re.compile(r"^\s+\S+\.go:\d+: (.*)$")
"""What a test says: the last of it before a skip is the reason."""


def run(command: tuple[str, ...], environment: Mapping[str, str]) -> int:
    """Carry out ``go test -json …`` in the checkout; its exit code, or 1 for a skip without an accepted reason."""
    with subprocess.Popen(
        command, cwd=paths.CHECKOUT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as go:
        assert go.stdout is not None
        refused = tell(go.stdout, lambda text: print(text, end="", flush=True))
    for line in refused:
        print(f"skipped without an accepted reason: {line}", flush=True)
    return go.returncode or (int(Exit.FAIL) if refused else 0)


def tell(lines: Iterable[str], say: Callable[[str], None]) -> list[str]:
    """Says each package's result and what failed tests said; returns the skips that are not accepted."""
    said: dict[tuple[str, str], list[str]] = defaultdict(list)
    refused = []
    for line in lines:
        try:
            event: dict[str, Any] = json.loads(line)
        except ValueError:
            say(line)
            continue
        package, test, action = event.get("Package", ""), event.get("Test", ""), event["Action"]
        if action == "build-output":
            say(event["Output"])
        elif action == "output" and not test:
            said[package, ""].append("" if event["Output"] == "PASS\n" else event["Output"])
        elif action == "output":
            said[package, test].append(event["Output"])
        elif action in ("pass", "skip", "fail"):
            # A package that breaks down leaves tests without an end; what they said is told with it.
            ended = [key for key in said if key[0] == package] if not test else [(package, test)]
            told = [text for key in ended for text in said.pop(key, [])]
            if action == "fail" or not test:
                say("".join(told))
            if action == "skip" and test and (why := objection(_reason(told))):
                refused.append(f"{package} {test}: {why}")
    return refused


def _reason(told: Iterable[str]) -> str:
    found = [match[1] for text in told if (match := SAID.match(text.rstrip("\n")))]
    return found[-1] if found else ""
