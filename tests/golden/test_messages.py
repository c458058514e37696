"""Every text with a code stands in the catalogue, and the source of each is in order."""

import ast
from pathlib import Path

import pytest

from tests.golden import messages


def read(source: str) -> tuple[list[messages.Entry], list[str]]:
    return messages.read({"testbed/a.py": ast.parse(source)})


def test_the_catalogue_is_what_the_source_says() -> None:
    entries, wrong = messages.read(messages.sources())
    assert not wrong, "\n".join(wrong)
    written = messages.catalogue(entries)
    assert written == messages.CATALOGUE.read_text(), "python -m tests.golden messages writes it"


def test_errors_are_found_by_their_class_and_texts_by_their_constant() -> None:
    source = """
class Late(TestbedError): ...
class Later(errors.Late): ...
HINT = "wait"
raise Later("run.late", f"{name}: late", HINT)
Other("not", "ours")
"""
    entries, wrong = read(source)
    assert (messages.catalogue(entries), wrong) == ("run.late\t{name}: late\twait\n", [])


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("Message(code, 'text')", "a.py:1: begin with a code"),
        ("Message('a.b', 'a ' + b)", "a.py:1: begin with a code"),
        ("Message('a.b', 'text {x}')", "a.py:1: a.b: a name in braces"),
        ("Message('a.b')", "a.py:1: begin with a code"),
        ("Message('a.b', 'text', **more)", "a.py:1: write each detail"),
        ("Message('Wrong', 'text')", "a.py:1: 'Wrong' should be words"),
        ("Message('a.b', 'one')\nMessage('a.b', 'other')", "a.py:2: a.b has another text at testbed/a.py:1"),
    ],
)
def test_what_is_wrong_with_a_source_is_told(source: str, says: str) -> None:
    _, [wrong] = read(source)
    assert says in wrong


def test_a_reworded_text_is_a_difference(tmp_path: Path) -> None:
    entries, _ = read("Message('a.b', 'one')")
    catalogue = tmp_path / "messages.tsv"
    catalogue.write_text(messages.catalogue(entries))
    reworded, _ = read("Message('a.b', 'another')")
    assert messages.catalogue(reworded) != catalogue.read_text()
