"""Questions of somebody who is new lead to their answers in few clicks, and the answers have the words to look for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.docs.test_pages import DOCS, anchors_of, links_of

QUESTIONS: list[dict[str, Any]] = YAML(typ="safe").load(Path(__file__).with_name("questions.yaml"))
MOST_CLICKS = 3
HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)


def clicks(start: Path) -> dict[str, int]:
    """The clicks from a page to every page, and to the sections that links or a page's own contents lead to."""
    place = str(start.relative_to(DOCS))
    found, new = {place: 0}, [start]
    while new:
        page = new.pop(0)
        name = str(page.relative_to(DOCS))
        for anchor in anchors_of(page):
            found.setdefault(f"{name}#{anchor}", found[name] + 1)
        for link in links_of(page.read_text(encoding="utf-8")):
            target, _, anchor = link.partition("#")
            there = (page.parent / target).resolve() if target else page
            if there.suffix != ".md" or not there.is_relative_to(DOCS):
                continue
            place = str(there.relative_to(DOCS))
            if place not in found:
                found[place] = found[name] + 1
                new.append(there)
            if anchor:
                found[f"{place}#{anchor}"] = min(found[name] + 1, found.get(f"{place}#{anchor}", MOST_CLICKS + 1))
    return found


def section(text: str, anchor: str) -> str:
    """The part of a page from a heading to the next one of its level."""
    code = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
    headings = list(HEADING.finditer(code.sub(lambda block: "x" * len(block[0]), text)))
    for number, heading in enumerate(headings):
        if re.sub(r"[^\w\- ]", "", heading[2].lower()).replace(" ", "-") == anchor:
            after = (other.start() for other in headings[number + 1 :] if len(other[1]) <= len(heading[1]))
            return text[heading.start() : next(after, len(text))]
    return ""


def unanswered(question: Mapping[str, Any], docs: Path = DOCS) -> list[str]:
    """The words that the section of a question lacks."""
    page, _, anchor = question["section"].partition("#")
    answer = section((docs / page).read_text(encoding="utf-8"), anchor)
    return [word for word in question["words"] if word.lower() not in answer.lower()]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["question"])
def test_a_question_is_answered_where_it_leads_to(question: dict[str, Any]) -> None:
    assert unanswered(question) == []


def test_answers_are_a_few_clicks_away() -> None:
    far = clicks(DOCS / "README.md")
    assert [each["section"] for each in QUESTIONS if far.get(each["section"], 99) > MOST_CLICKS] == []


def test_the_index_leads_to_each_answer_at_once() -> None:
    links = links_of((DOCS / "README.md").read_text(encoding="utf-8"))
    assert [each["section"] for each in QUESTIONS if each["section"] not in links] == []


def test_every_page_is_a_few_clicks_away() -> None:
    far = clicks(DOCS / "README.md")
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert [page for page in pages if far.get(page, 99) > MOST_CLICKS] == []


def test_a_missing_answer_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# A\n## How long\nIt takes an hour.\n```\n## no heading\n```\n### Why\nSlow.\n## B\nroot\n"
    )
    words = ["hour", "slow", "root", "no heading"]
    assert unanswered({"section": "a.md#how-long", "words": words}, tmp_path) == ["root"]
    assert unanswered({"section": "a.md#gone", "words": words}, tmp_path) == words
