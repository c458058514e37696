"""One vocabulary of statuses: the words of earlier versions are read as what they meant, and written by nothing."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.judge import status
from testbed.judge.status import BEST_FIRST, EARLIER, Status, current, current_comparison
from tests.bundle.old_bundles import files, opened

MAP = json.loads(Path(__file__).with_name("status-words.json").read_text(encoding="utf-8"))
"""What each word of earlier versions meant, by vocabulary; written down before there was one."""
VOCABULARIES: dict[str, dict[str, Any]] = MAP["vocabularies"]
READ = ("part", "whole", "cell", "column", "claim", "claims' run", "pairing")
"""Vocabularies of files; of the others nothing is read."""
KEYS = {key for keys in MAP["documents"].values() for key in keys} - {"word", "words"} | {"statuses"}
"""Keys of statuses; those of a comparison are directions."""
BY_NAME = ("states", "runs_own", "statuses")
"""Keys below which there are statuses by name."""
MARKS = {"pass", "fail", "holds", "fails", "broken", "inside", "outside", "ok"}
"""A type with one of these is one of statuses."""
HOME = "testbed/judge/status.py"
ALSO = {
    "broken": {"a key of the verdict, of an agreement and of the claims' own errors"},
    "holds": {"a key of repetitions, and what pages and tables call a check that passes"},
    "fails": {"what pages and tables call a check that does not pass"},
    "inside": {"a place in a folder, or in a guest"},
    "outside": {"its opposite"},
    "straddles": {"nothing, but it was never in a file"},
    "ok": {"Ansible's word, and doctor's"},
    "broke down": {"in a sentence"},
}
"""Words that are also something else: as statuses they stand in a comparison, or beside ``status``."""


def misread() -> list[str]:
    """Words of earlier versions that are not read as what they meant."""
    told = []
    for name in READ:
        for word, meant in VOCABULARIES[name]["words"].items():
            if meant is not None and Status(word) != meant:
                told.append(f"{name}: {word} is read as {Status(word)}, and meant {meant}")
    return told


def statuses(document: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Each text below one of :data:`KEYS`, with the key."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from statuses(
                value, name if name in KEYS else key if key in ("states", "runs_own", "statuses") else ""
            )
    elif isinstance(document, list):
        for value in document:
            yield from statuses(value, "")
    elif isinstance(document, str) and key:
        yield key, document


def documents(folder: Path) -> Iterator[tuple[str, Any]]:
    """Of every result below a folder, with their files' names."""
    for path in sorted(folder.rglob("*.json")):
        if path.name in MAP["documents"]:
            yield path.name, json.loads(path.read_text(encoding="utf-8"))


def not_read(name: str, document: Any) -> list[str]:
    """Statuses of a document that stay something else when it is read."""
    reader = current_comparison if name == "compare.json" else current
    values = {*(one.value for one in Status), *MAP["states of an agent"]}
    return [
        f"{name}: {key}: {word}"
        for key, word in statuses(reader(document, 1_000))
        if word not in values
        and word not in MAP["states of an agent"]
        and not (key == "verdict" and "no difference shown" in word)
    ]


def earlier_words(source: str) -> Iterator[str]:
    """Texts of Python source that are words of earlier versions, as statuses."""
    tree = ast.parse(source)
    beside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        for part in (side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side])
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in {*EARLIER, *ALSO}:
            if node.value not in ALSO or id(node) in beside:
                yield node.value
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == "Literal":
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            texts = {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
            if texts & MARKS and "xfail" not in texts:  # those are outcomes
                yield f"Literal of {', '.join(sorted(texts))}"


def words_in_text(text: str) -> list[str]:
    """The same of a document, where a word stands as code: ``word``, or "word"."""
    return [word for word in EARLIER if word not in ALSO and re.search(rf"[`\"]{re.escape(word)}[`\"]", text)]


def test_each_word_becomes_a_status() -> None:
    known = {*MAP["statuses"], *MAP["not counted"], None}
    for name, one in VOCABULARIES.items():
        assert set(one["words"].values()) <= known, name


def test_the_order_is_that_of_before() -> None:
    assert [one.value for one in BEST_FIRST] == MAP["statuses"]
    assert [one.value for one in Status] == [*MAP["statuses"], *MAP["not counted"]]


def test_each_word_is_read_as_what_it_meant() -> None:
    assert misread() == []
    assert not {one.value for one in Status} & EARLIER.keys()


@pytest.mark.parametrize("word", sorted({one for name in READ for one in VOCABULARIES[name]["words"]} & EARLIER.keys()))
def test_a_word_that_is_read_as_another_status_is_seen(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in Status:
        if other != Status(word):
            monkeypatch.setattr(status, "EARLIER", {**EARLIER, word: other})
            assert any(f": {word} is read as {other}" in text for text in misread()), other
            monkeypatch.undo()


def test_what_is_no_status_is_refused() -> None:
    for word in ("passed", "", "PASS", "good"):
        with pytest.raises(ValueError, match="is not a valid Status"):
            Status(word)


@pytest.mark.parametrize("file", files(), ids=lambda file: file.stem)
def test_every_word_of_an_old_result_is_read(file: Path) -> None:
    with opened(file) as place:
        found = list(documents(place))
    assert any(list(statuses(document)) for _, document in found)
    assert [told for name, document in found for told in not_read(name, document)] == []


def test_every_word_of_the_reference_results_is_read() -> None:
    found = list(documents(paths.CHECKOUT / "data" / "reference"))
    assert {word for _, document in found for _, word in statuses(document)} >= {"undecided", "broken", "unsupported"}
    assert [told for name, document in found for told in not_read(name, document)] == []


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("verdict.json", {"checks": [{"status": "passed"}]}),
        ("table.json", {"rows": [{"states": {"previous": "good"}}]}),
        ("claims.json", {"runs": {"startup": {"state": "well"}}}),
    ],
)
def test_a_word_that_is_not_read_is_seen(name: str, document: Any) -> None:
    assert len(not_read(name, document)) == 1


def test_a_run_that_was_judged_has_its_own_verdict_and_what_was_not_asked_is_skipped() -> None:
    runs = {str(code): {"state": "judged", "exit_code": code} for code in (0, 1, 3, 2)}
    claims = [{"verdict": "not-covered", "asked": False}, {"verdict": "not-covered", "asked": True}]
    read = current({"schema": 1, "verdict": "fail", "runs": runs, "claims": claims}, 2)
    assert [run["state"] for run in read["runs"].values()] == ["pass", "fail", "untrusted", "error"]
    assert [claim["verdict"] for claim in read["claims"]] == ["skipped", "insufficient-data"]
    assert (read["schema"], read["verdict"]) == (2, "fail")
    assert current(read, 2) == read


def test_a_comparison_has_a_direction_beside_each_status() -> None:
    words = VOCABULARIES["comparison"]["words"]
    entries = [{"figure": "f", "word": word} for word in VOCABULARIES["difference"]["words"]]
    read = current_comparison({"schema": 1, "words": {word: word for word in words}, "differences": entries}, 2)
    assert read["statuses"] == words
    assert {word for word, direction in read["directions"].items() if not direction} == {"failed", "untrusted"}
    assert all(direction in ("", word) for word, direction in read["directions"].items())
    for entry, (word, meant) in zip(read["differences"], VOCABULARIES["difference"]["words"].items(), strict=True):
        assert (entry["direction"], entry["status"]) == (word, meant or "skipped")
    assert current_comparison(read, 2) == read


def sources() -> list[Path]:
    folders = ("testbed", "dashboards", "tools", ".ci")
    return [path for folder in folders for path in sorted((paths.CHECKOUT / folder).rglob("*.py"))]


def test_nothing_else_knows_a_word_of_before() -> None:
    found = {}
    for path in sources():
        name = str(path.relative_to(paths.CHECKOUT))
        if name != HOME and (words := list(earlier_words(path.read_text(encoding="utf-8")))):
            found[name] = words
    assert found == {}
    texts = [*sorted((paths.CHECKOUT / "schemas").rglob("*.json"))]
    texts += [paths.CHECKOUT / "docs" / name for name in ("contracts.md", "verdicts.md")]
    in_texts = {path.name: words_in_text(path.read_text(encoding="utf-8")) for path in texts}
    assert {name: words for name, words in in_texts.items() if words} == {}


@pytest.mark.parametrize(
    "planted",
    [
        'status = "undecided"',
        'if found in ("pass", "holds"): ...',
        'if verdict == "broken": ...',
        'Word = Literal["pass", "warn"]',
        'x = typing.Literal["ok"]',
        '{"a": "not-covered"}',
    ],
)
def test_a_planted_word_is_seen(planted: str) -> None:
    assert len(list(earlier_words(planted))) >= 1


def test_a_planted_word_in_a_text_is_seen() -> None:
    assert words_in_text("It is `not-asked` there, or undecided.") == ["not-asked"]
