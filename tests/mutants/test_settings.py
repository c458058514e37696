"""What pyproject.toml says of mutation testing is there: of a file that has moved nothing would be changed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from testbed import paths

TEXT = (paths.CHECKOUT / "pyproject.toml").read_text().partition("[tool.mutmut]\n")[2].partition("\n[tool.")[0]
LISTS = ("source_paths", "only_mutate", "also_copy", "pytest_add_cli_args_test_selection")


def listed(name: str) -> list[str]:
    """One of the section's lists; Python 3.10 reads no TOML."""
    found = re.search(rf"^{name} = (\[.*?\])$", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"{name} is not in the section"
    return [str(one) for one in ast.literal_eval(found[1])]


def missing(patterns: list[str], place: Path = paths.CHECKOUT) -> list[str]:
    return [one for one in patterns if not list(place.glob(one))]


@pytest.mark.parametrize("name", LISTS)
def test_what_is_listed_is_there(name: str) -> None:
    assert listed(name)
    assert missing(listed(name)) == []


def test_one_that_has_moved_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    assert missing(["a.py", "b/*.py", "*.py"], tmp_path) == ["b/*.py"]


def test_tests_that_are_left_out_are_there() -> None:
    """By a part of their name, or of their file's."""
    _, words = listed("pytest_add_cli_args")
    tests = {path: path.read_text() for path in (paths.CHECKOUT / "tests").glob("**/test_*.py")}
    for part in re.findall(r"not (\w+)", words):
        assert any(part in path.stem or re.search(rf"def test_\w*{part}", text) for path, text in tests.items()), part
