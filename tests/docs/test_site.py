"""The site: its navigation is the index, its links are those of the pages; and as a whole, in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from testbed import paths
from testbed.cli.docs import build_site
from testbed.cli.site import hooks
from testbed.machine import browser, machine
from tests.browser.look import chromium, look
from tests.docs.test_questions import QUESTIONS

INDEX = (paths.CHECKOUT / "docs" / "README.md").read_text(encoding="utf-8")
WIDTHS = (360, 768, 1280)
"""Of a telephone, a tablet and a desk, in CSS pixels."""


def pages_of(index: str) -> list[str]:
    _, *groups = hooks.navigation(index)
    return [page for group in groups for pages in group.values() for entry in pages for page in entry.values()]


def test_the_navigation_has_every_page_once() -> None:
    docs = paths.CHECKOUT / "docs"
    there = [str(path.relative_to(docs)) for path in docs.rglob("*.md") if path != docs / "README.md"]
    assert sorted(pages_of(INDEX)) == sorted([*there, *hooks.OUTSIDE.values()])


def test_the_navigation_goes_by_the_headings() -> None:
    security = "[D](../.github/SECURITY.md)"
    index = f"# T\n[no](x.md)\n## One\n- [A `b`](a.md): c, {security}\n## Two\n- [E](e.md#f) [A](a.md)\n"
    assert hooks.navigation(index) == [
        {"Home": "README.md"},
        {"One": [{"A `b`": "a.md"}, {"D": "security.md"}]},
        {"Two": []},
    ]


@pytest.mark.parametrize(
    ("text", "folder", "there", "nowhere"),
    [
        ("[a](b.md#c)", "docs", "[a](b.md#c)", None),
        ("[a](../.github/SECURITY.md#b)", "docs", "[a](security.md#b)", None),
        ("[a](docs/b.md)", "", "[a](b.md)", None),
        ("[a](../docs/b.md)", "reference", "[a](b.md)", None),
        ("[a](../b.md)", "docs/results", "[a](../b.md)", None),
        ("[a](c.md)", "docs/results", "[a](c.md)", None),
        ("![a](docs/images/b.svg)", "", "![a](images/b.svg)", None),
        ("[a](https://e.org/b) [c](#d)", "docs", "[a](https://e.org/b) [c](#d)", None),
        ("[`a`](../b/a)", "docs", "[`a`](https://e.org/r/blob/main/b/a)", "`a`"),
        ("[a](../b/c)", "docs", "[a](https://e.org/r/blob/main/b/c)", "a (`b/c`)"),
        ("`[a](../b)`", "docs", "`[a](../b)`", None),
        (r"| `a\|b` |", "docs", "| `a|b` |", None),
        ("```\na\\|b\n```\n", "docs", "```\na\\|b\n```\n", None),
        ("```\n[a](../b)\n```\n", "docs", "```\n[a](../b)\n```\n", None),
    ],
)
def test_links_lead_to_pages_of_the_site_or_to_the_repository(
    text: str, folder: str, there: str, nowhere: str | None
) -> None:
    assert hooks.relinked(text, folder, "https://e.org/r/") == there
    assert hooks.relinked(text, folder, "") == (there if nowhere is None else nowhere)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first page of the built site."""
    assert machine.site_tools().ok, "./run.sh docs installs what makes the site"
    if browser.find() is None:
        pytest.skip("needs Chromium or Chrome")
    return build_site(tmp_path_factory.mktemp("built") / "site")


FIRST_ONES = 5
"""Results of a search that a reader looks at."""


@pytest.mark.nightly
def test_a_search_finds_the_answer_to_a_question(first: Path) -> None:
    missed = []
    with chromium() as opened:
        page = opened.new_page()
        page.goto(first.as_uri())
        typed, results = page.locator("input.md-search__input"), page.locator(".md-search-result__item")
        for question in QUESTIONS:
            typed.fill("")
            typed.press_sequentially(question["search"])
            page.wait_for_timeout(1000)
            links = results.locator("a").evaluate_all("links => links.map(link => link.href)")
            names = list(dict.fromkeys(re.sub(r".*/site/|[?#].*", "", link) for link in links))
            place, _, anchor = question["section"].replace(".md", ".html").partition("#")
            if place not in names[:FIRST_ONES] or not any(link.endswith(f"#{anchor}") for link in links):
                missed.append(f"{question['search']}: {names[:FIRST_ONES]}")
    assert missed == []


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_every_page_is_right_in_a_browser(first: Path) -> None:
    """Nothing is missing, too wide, too faint or fetched from a network, at any width; diagrams are drawn."""
    pages = sorted(page for page in first.parent.rglob("*.html") if page.name != "404.html")
    assert len(pages) == len(pages_of(INDEX)) + 1
    wrong = []
    with chromium() as opened:
        for page in pages:
            for width in WIDTHS:
                wrong += [f"{page.name} at {width}: {problem}" for problem in look(opened, page, width).problems]
            wrong += [
                f"{page.name} in the dark: {problem}" for problem in look(opened, page, WIDTHS[-1], "dark").problems
            ]
    assert wrong == []
