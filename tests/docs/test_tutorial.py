"""The tutorial, word for word: its commands and edits in a clone of this checkout, with the outcomes that it shows."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from testbed import paths

PAGE = (paths.CHECKOUT / "docs" / "tutorial.md").read_text(encoding="utf-8")


class Block(NamedTuple):
    """A block of code: ``sh`` commands, a ``diff`` to make by hand, or the ``text`` that the commands end with."""

    kind: str
    text: str


def blocks(page: str = PAGE) -> list[Block]:
    return [Block(*found) for found in re.findall(r"^```(sh|diff|text)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]


def edited(text: str, diff: str) -> str:
    """A file's text after a diff of single lines, each of which is in it once."""
    lines = diff.splitlines()[1:]
    for old, new in zip(lines[::2], lines[1::2], strict=True):
        assert (old[0], new[0], text.count(f"{old[1:]}\n")) == ("-", "+", 1), old
        text = text.replace(f"{old[1:]}\n", f"{new[1:]}\n")
    return text


def test_it_has_commands_edits_and_outcomes() -> None:
    assert [block.kind for block in blocks()] == [
        *("sh", "text", "sh", "sh", "text"),
        *("diff", "sh", "text", "sh", "text", "diff", "sh", "text"),
    ]


def test_its_edits_fit_the_file() -> None:
    made = [block.text for block in blocks() if block.kind == "diff"]
    (name,) = {diff.splitlines()[0].removeprefix("--- ") for diff in made}
    text = as_it_is = (paths.CHECKOUT / name).read_text(encoding="utf-8")
    for diff in made:
        text = edited(text, diff)
    assert text != as_it_is


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Of what is committed, with this checkout's packages: what set-up does has tests of its own."""
    if not (paths.CHECKOUT / ".git").exists():
        pytest.skip("this checkout has no history")
    folder = tmp_path / "ncp-testbed"
    trusted = ["-c", "safe.directory=*"]
    subprocess.run(["git", *trusted, "clone", "-q", str(paths.CHECKOUT), str(folder)], check=True)
    (folder / ".venv").symlink_to(paths.CHECKOUT / ".venv")
    return folder


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_word_for_word(clone: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NCP_TESTBED_")}
    said = ""
    for block in blocks():
        if block.kind == "diff":
            file = clone / block.text.splitlines()[0].removeprefix("--- ")
            file.write_text(edited(file.read_text(encoding="utf-8"), block.text), encoding="utf-8")
        elif block.kind == "sh":
            done = subprocess.run(
                ["bash", "-c", block.text], cwd=clone, env=environment, capture_output=True, text=True, check=False
            )
            said = done.stdout
            assert done.returncode in (0, 1), done.stderr  # 1: FAIL, MIXED or WORSE, as the page has it
        else:
            last = said.splitlines()[-1]
            assert last.startswith(block.text.strip()), f"{block.text!r} is not how it ends: {last!r}"
