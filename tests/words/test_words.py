"""The prose of the source and of the pages is in plain words."""

from pathlib import Path

import pytest

from tests.words import check, grammar, prose, style
from tests.words.prose import Text


def test_all_prose_is_in_plain_words() -> None:
    found = check.violations(prose.everything())
    assert not found, "\n".join(f"{text}: {why}" for text, why in found)


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("What is asked of many cells.", "starts with 'What'"),
        ("What is asked of many cells.", "'asked'"),
        ("Which runs stand, and which are wanted again.", "starts with 'Which'"),
        ("How much it bears", "starts with 'How'"),
        ("Of plans from when there was no other.", "starts with 'Of'"),
        ("By what was measured, and by the run's own telemetry.", "starts with 'By'"),
        ("Where three runs or more count, the interval of the median.", "starts with 'Where'"),
        ("Those of its ends, a and b.", "starts with 'Those'"),
        ("For dashboards, which change, and what they read with them.", "starts with 'For'"),
        ("Pull the link's plug at both ends.", "'plug'"),
        ("Write the results of a run that are made again.", "'made again'"),
        ("Tables of before have no file.", "'of before'"),
    ],
)
def test_sentences_of_earlier_versions_violate_the_style(sentence: str, why: str) -> None:
    assert any(why in found for found in style.violations(Text("a.py", 1, "docstring", sentence)))


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("Every host is set to the same whatever the machine's are.", "SingleBe"),
        ("A point of the measurement as one of the history.", "OneOfTheSingular"),
        ("Writes the the table into its folder.", "RepeatedWords"),
        ("Writes the tabel into its folder.", "SpellCheck"),
        (" ".join(["Waits for each packet of the first link, and"] * 6) + " ends.", "LongSentences"),
    ],
)
def test_mistakes_of_grammar_are_found(sentence: str, rule: str, tmp_path: Path) -> None:
    [(_, mistake), *_] = grammar.lint([Text("a.py", 1, "comment", sentence)], tmp_path)
    assert mistake.startswith(rule)


@pytest.mark.parametrize(
    "sentence",
    [
        "A set of runs and the check that judges them.",
        "Selects the runs to keep and the runs to retry.",
        "Whether a run's telemetry has gaps.",
        "The median of the ``goodput_mib_s`` of all runs, in MiB/s; raises :class:`BadInput` for {path}.",
        "Limits",
    ],
)
def test_plain_sentences_pass(sentence: str, tmp_path: Path) -> None:
    text = Text("a.py", 1, "docstring", sentence)
    assert [*style.violations(text), *grammar.lint([text], tmp_path)] == []


def test_prose_is_found_where_it_stands() -> None:
    source = '"""Module."""\n\nLIMIT_S = 1\n"""Seconds."""\n\n\n# first line\n# second line\nx = 1  # behind\n# noqa\n'
    assert [(text.line, text.kind, text.text) for text in prose.of_python("a.py", source)] == [
        (1, "docstring", "Module."),
        (4, "docstring", "Seconds."),
        (7, "comment", "first line\nsecond line"),
        (9, "comment", "behind"),
    ]
    assert [
        text.text for text in prose.of_lines("a.go", "// Package a\n// is.\ncode // no\n\t//go:embed x\n", "//")
    ] == ["Package a\nis."]


PAGE = """# Links

A link carries frames at the rate that `rate` sets.

| key | what |
|---|---|
| `queue` | packets |

```sh
./run.sh waht
```
"""


def test_prose_of_a_page_is_found_without_its_code() -> None:
    assert [(text.line, text.text) for text in prose.of_markdown("a.md", PAGE)] == [
        (1, "Links"),
        (3, "A link carries frames at the rate that `rate` sets."),
        (5, "key"),
        (5, "what"),
        (7, "`queue`"),
        (7, "packets"),
    ]


def test_pages_with_mistakes_are_found() -> None:
    mistakes = {
        "nothing": ("Links", "Links", ""),
        "an invented word": ("carries frames", "carries framelets", "SpellCheck"),
        "American spelling": ("carries frames", "carries colored frames", "SpellCheck"),
        "American spelling in a table": ("packets", "packets, behavior", "SpellCheck"),
        "two spellings": ("carries frames", "serializes frames", "British spelling"),
        "an odd phrase": ("# Links", "# What came of it", "write result"),
        "a sentence of 60 words": ("sets.", f"sets{', and each host behind it waits' * 8}.", "LongSentences"),
    }
    pages = {name: PAGE.replace(said, instead, 1) for name, (said, instead, _) in mistakes.items()}
    found = check.violations([text for name, page in pages.items() for text in prose.of_markdown(name, page)])
    assert sorted(text.file for text, _ in found) == sorted(name for name in mistakes if name != "nothing")
    assert [f"{text.file}: {why}" for text, why in found if mistakes[text.file][2] not in why] == []


def test_a_violation_is_found_among_other_texts() -> None:
    texts = [Text("a.py", 1, "docstring", "How much it bears"), Text("b.py", 1, "docstring", "Limits")]
    assert [text.file for text, _ in check.violations(texts)] == ["a.py"]
