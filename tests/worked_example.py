"""What a page's worked example needs in Go: the page's files and lines, built without touching the checkout."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from testbed import paths
from testbed.machine import build


def section(page: str, heading: str) -> str:
    """The part of a page of docs/ from a heading (without its #) to the next one of any level."""
    text = (paths.CHECKOUT / "docs" / page).read_text(encoding="utf-8")
    (_, after) = re.split(rf"^#+ {re.escape(heading)}\n", text, flags=re.MULTILINE)
    outside = re.sub(r"```.*?```", lambda found: "." * len(found[0]), after, flags=re.DOTALL)
    heads = [found.start() for found in re.finditer(r"^#+ ", outside, re.MULTILINE)]
    return after[: heads[0]] if heads else after


def code(part: str, language: str) -> list[str]:
    """Its blocks of code in a language."""
    return re.findall(rf"```{language}\n(.*?)```", part, re.DOTALL)


def with_line(file: str, after: str, line: str) -> str:
    """The text of a file of the checkout with something put after the one place that has ``after``."""
    text = (paths.CHECKOUT / file).read_text(encoding="utf-8")
    assert text.count(after) == 1
    return text.replace(after, after + line)


def built(program: str, changed: Mapping[str, str], place: Path, patch: pytest.MonkeyPatch) -> Path:
    """A program of the checkout with these files, by their paths in it, instead of its own or besides them."""
    replaced = {}
    for number, (file, text) in enumerate(changed.items()):
        copy = place / f"{number}.go"
        copy.write_text(text, encoding="utf-8")
        replaced[str(paths.CHECKOUT / file)] = str(copy)
    overlay = place / "overlay.json"
    overlay.write_text(json.dumps({"Replace": replaced}))
    with patch.context() as during:
        during.setenv("GOFLAGS", f"-overlay={overlay}")
        return build.build_programs(program, into=place / "bin")[program]
