"""Every word for a status that code and old results have is mapped to one of the statuses of ``status-words.json``."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from testbed import paths
from testbed.judge.algebra import BEST_FIRST, Part
from tests.bundle.old_bundles import files, opened

MAP = json.loads(Path(__file__).with_name("status-words.json").read_text(encoding="utf-8"))
VOCABULARIES: dict[str, dict[str, Any]] = MAP["vocabularies"]
WORDS = {name: frozenset(one["words"]) for name, one in VOCABULARIES.items()}
KEYS = {key for keys in MAP["documents"].values() for key in keys}
SAYS = {"pass", "fail", "holds", "fails", "broken", "better", "worse", "inside", "outside", "ok"}
"""A type with one of these is one of statuses."""


def literals(source: str) -> Iterator[frozenset[str]]:
    """The texts of each ``Literal[…]`` that has one of :data:`SAYS`; of one that extends another with ``|`` its own."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == "Literal":
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            texts = frozenset(p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str))
            if texts & SAYS:
                yield texts


def statuses(document: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Each text below one of :data:`KEYS`, with the key."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from statuses(value, name if name in KEYS else key if key in ("words", "states", "runs_own") else "")
    elif isinstance(document, list):
        for value in document:
            yield from statuses(value, "")
    elif isinstance(document, str) and key:
        yield key, document


def not_mapped(name: str, document: Any) -> list[str]:
    """Words of a document that the map does not have there."""
    told = []
    for key, word in statuses(document):
        vocabularies = MAP["documents"].get(name, {}).get(key, [])
        if not any(word in WORDS[one] or "*" in WORDS[one] for one in vocabularies) and (
            key != "state" or word not in MAP["states of an agent"]
        ):
            told.append(f"{name}: {key}: {word}")
    return told


def documents(folder: Path) -> Iterator[tuple[str, Any]]:
    """Of every result below a folder, with their files' names."""
    for path in sorted((*folder.rglob("*.json"), *folder.rglob("runs.jsonl"))):
        lines = path.read_text(encoding="utf-8").splitlines() if path.suffix == ".jsonl" else [path.read_text("utf-8")]
        for line in filter(None, lines):
            yield path.name, json.loads(line)


def test_each_word_becomes_a_status() -> None:
    known = {*MAP["statuses"], *MAP["not counted"], None}
    for name, one in VOCABULARIES.items():
        assert set(one["words"].values()) <= known, name
    assert {vocabulary for keys in MAP["documents"].values() for some in keys.values() for vocabulary in some} <= set(
        WORDS
    )


def test_the_order_is_that_of_today() -> None:
    words = VOCABULARIES["part"]["words"]
    assert [words[word] for word in BEST_FIRST] == MAP["statuses"]
    assert set(words) == {*BEST_FIRST, *(word for part in get_args(Part) for word in (get_args(part) or (part,)))}


def test_every_type_of_the_code_is_mapped() -> None:
    found = {
        texts: path.relative_to(paths.CHECKOUT)
        for path in sorted((paths.CHECKOUT / "testbed").rglob("*.py"))
        for texts in literals(path.read_text(encoding="utf-8"))
    }
    mapped = {WORDS[name] for name, one in VOCABULARIES.items() if one["literal"]} | {frozenset(BEST_FIRST)}
    assert {texts: place for texts, place in found.items() if texts not in mapped} == {}
    assert mapped - found.keys() == {WORDS["part"]}, "not-asked is added to the type of the others"


@pytest.mark.parametrize("file", files(), ids=lambda file: file.stem)
def test_every_word_of_an_old_result_is_mapped(file: Path) -> None:
    with opened(file) as place:
        found = list(documents(place))
    assert any(list(statuses(document)) for _, document in found)
    assert [told for name, document in found for told in not_mapped(name, document)] == []


def test_every_word_of_the_reference_results_is_mapped() -> None:
    found = list(documents(paths.CHECKOUT / "data" / "reference"))
    assert {word for _, document in found for _, word in statuses(document)} >= {
        "undecided",
        "broken",
        "error",
        "unsupported",
    }
    assert [told for name, document in found for told in not_mapped(name, document)] == []


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("verdict.json", {"checks": [{"status": "passed"}]}),
        ("table.json", {"rows": [{"states": {"previous": "good"}}]}),
        ("compare.json", {"words": {"new": "differs"}}),
        ("claims.json", {"runs": {"startup": {"state": "unjudged"}}}),
        ("other.json", {"verdict": "pass"}),
    ],
)
def test_a_word_that_is_not_mapped_is_seen(name: str, document: Any) -> None:
    assert len(not_mapped(name, document)) == 1


def test_a_type_that_is_not_mapped_is_seen() -> None:
    source = 'A = Literal["pass", "warn"]\nB = typing.Literal["ok"]\nC = Literal["a", "b"]\n'
    assert list(literals(source)) == [{"pass", "warn"}, {"ok"}]
