"""Skips without an accepted reason, and second tries, in JUnit files.

pytest and gotestsum write them. A test that is in them as failed and as passed passed at its second try."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from testbed import paths

FOLDER = paths.CHECKOUT / ".build" / "test"
"""Folder of the sessions' files (noxfile.py)."""
SECOND_TRY = "second try"
"""Name of a property in a test's ``user_properties``: it did something a second time, and why."""
MOST_SECOND_TRIES = 1
"""More of them, in a whole run, are not a moment's."""
SAID_IN_GO = re.compile(r"^\s+\S+\.go:\d+: (.*)$", re.MULTILINE)
"""Lines that a test in Go logs: the last one before a skip is the reason."""


@dataclass(frozen=True)
class Case:
    """One test as it ended; ``detail`` is the reason of a skip, or why a test that passed did something twice."""

    name: str
    ended: Literal["passed", "failed", "skipped"]
    detail: str = ""


def cases(files: Iterable[Path]) -> list[Case]:
    """All tests of some files, those that ended twice as often."""
    return [_case(element) for file in files for element in ElementTree.parse(file).iter("testcase")]


def _case(element: ElementTree.Element) -> Case:
    name = f"{element.get('classname', '')}::{element.get('name', '')}".removeprefix("::")
    if element.find("failure") is not None or element.find("error") is not None:
        return Case(name, "failed")
    if (skipped := element.find("skipped")) is not None:
        return Case(name, "skipped", _reason(skipped))
    again = [one.get("value", "") for one in element.iter("property") if one.get("name") == SECOND_TRY]
    return Case(name, "passed", "; ".join(again))


def _reason(skipped: ElementTree.Element) -> str:
    message, text = skipped.get("message") or "", skipped.text or ""
    if message.startswith("=== RUN"):
        said = SAID_IN_GO.findall(message)
        return said[-1] if said else ""
    if message == "collection skipped":  # of a whole module: a tuple of file, line and reason
        message = re.sub(r"^\(.*?, \d+, (['\"])(.*)\1\)$", r"\2", text, flags=re.DOTALL)
    return message.removeprefix("Skipped: ").removeprefix("Skipped")


def failed(files: Iterable[Path]) -> list[str]:
    """The tests that failed; none where a file was not written."""
    return [case.name for case in cases(file for file in files if file.exists()) if case.ended == "failed"]


def refused(found: Iterable[Case]) -> list[str]:
    """The skips for which this machine has no reason."""
    from testbed.cli.skips import objection

    skipped = [case for case in found if case.ended == "skipped"]
    return [f"{case.name}: {why}" for case in skipped if (why := objection(case.detail))]


def second_tries(found: Iterable[Case]) -> list[str]:
    """The tests that passed, but only at a second try of theirs or of something in them."""
    every = list(found)
    once_failed = {case.name for case in every if case.ended == "failed"}
    passed = {case.name: case.detail for case in every if case.ended == "passed"}
    return [name for name, detail in passed.items() if detail or name in once_failed]


def counts(found: Iterable[Case]) -> tuple[int, int, int]:
    """Numbers of passed, failed and skipped tests; one that passed at its second try passed."""
    ended: dict[str, str] = {}
    for case in found:
        if ended.get(case.name) != "passed":
            ended[case.name] = case.ended
    words = list(ended.values())
    return words.count("passed"), words.count("failed"), words.count("skipped")
