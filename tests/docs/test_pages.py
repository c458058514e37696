"""README and docs/: every link leads somewhere, every page is in the index, no line is a wall, and the README stays
one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from testbed import paths

DOCS = paths.CHECKOUT / "docs"
PAGES = [
    paths.CHECKOUT / "README.md",
    paths.CHECKOUT / "CHANGELOG.md",
    paths.CHECKOUT / ".github" / "CONTRIBUTING.md",
    paths.CHECKOUT / ".github" / "SECURITY.md",
    *sorted(DOCS.rglob("*.md")),
]
LINK = re.compile(r"\]\(([^()\s]+)\)")
MOST_WORDS = 800
MOST_PAGES, MOST_WORDS_OF_A_PAGE, MOST_WORDS_OF_ALL = 18, 2500, 32_000
"""Of docs/, without results/ and reference/, and without blocks of code."""
MOST_CHARACTERS = 400
"""In a line: an editor, a pull request and a reader get lost in more."""


def links_of(text: str) -> list[str]:
    """Links and pictures into this repository, outside of code."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return [link for link in LINK.findall(prose) if not re.match(r"[a-z]+:", link)]


def anchors_of(page: Path) -> set[str]:
    """What headings are called in links, as GitHub makes it of their text."""
    anchors: set[str] = set()
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        shown = LINK.sub("]", title)
        anchors.add(re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-"))
    return anchors


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    wrong = []
    for link in links_of(page.read_text(encoding="utf-8")):
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A: `b` page\n[a](page.md#a-b-page) [b](none.md) [c](#none) [d](https://e.org/f) `[g](h)`\n")
    assert broken(page) == ["none.md", "#none"]


def test_every_page_is_in_the_index_once() -> None:
    links = links_of((DOCS / "README.md").read_text())
    listed = [link for link in links if "#" not in link and not link.startswith("..")]
    there = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted(page for page in there if page != "README.md")


def test_the_readme_is_no_manual() -> None:
    assert len((paths.CHECKOUT / "README.md").read_text().split()) <= MOST_WORDS


def words_of(page: Path) -> int:
    """The words of a page's prose and tables."""
    return len(re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE).split())


def test_words_of_code_do_not_count(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\ntwo\n```yaml\nnot: these\n```\nthree\n```\nnor these\n```\n")
    assert words_of(page) == 4  # with the heading's mark


def test_the_documentation_is_no_novel() -> None:
    words = {page.name: words_of(page) for page in DOCS.glob("*.md")}
    assert len(words) <= MOST_PAGES
    assert {name: count for name, count in words.items() if count > MOST_WORDS_OF_A_PAGE} == {}
    assert sum(words.values()) <= MOST_WORDS_OF_ALL


def walls(page: Path) -> list[int]:
    """The numbers of lines that are too long."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, start=1) if len(line) > MOST_CHARACTERS]


# Reference pages are made from the code, a line each.
@pytest.mark.parametrize(
    "page", [each for each in PAGES if each.parent.name != "reference"], ids=lambda page: page.name
)
def test_no_line_is_a_wall(page: Path) -> None:
    assert walls(page) == []


def test_a_wall_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{'x' * MOST_CHARACTERS}\n| {'y' * MOST_CHARACTERS} |\n")
    assert walls(page) == [2]


def run_on_lists(page: Path) -> list[str]:
    """Lists without a blank line before them: the site shows them as part of the paragraph, unlike GitHub."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^(?!\s|[-*] |\d+\. |\||#|<!--).+\n *[-*] .*$", text, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_list_begins_after_a_blank_line(page: Path) -> None:
    assert run_on_lists(page) == []


def test_a_list_that_runs_on_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("One:\n\n- a\n  b\n- c\n\nTwo:\n- d\n")
    assert run_on_lists(page) == ["Two:\n- d"]
