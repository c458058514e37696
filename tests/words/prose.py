"""Extracts prose: docstrings and comments in Python, comments in Go and YAML, texts with a code, pages in Markdown."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from markdown_it import MarkdownIt

CHECKOUT = Path(__file__).resolve().parents[2]
WITHOUT = ("tests/", "examples/", "docs/", "data/")
"""Folders whose sources are not read."""
PAGES = ("README.md", "CHANGELOG.md", ".github/*.md", "docs/*.md", "data/*.md", "images/*.md")
"""Pages, also those that are generated from templates, data and the source."""
MARKDOWN = MarkdownIt().enable("table")
DIRECTIVE = re.compile(
    r"(//(go:|nolint|line |export )|# ?(noqa|type:|mypy:|!|yamllint|shellcheck|yaml-language-server))"
)
CODE = re.compile(
    r"(:[a-z]+:)?``?.*?``?('s)?"  # marked as such
    r"|\{[^{}]*\}('s)?"  # a value that a text is filled in with
    r"|[\w./:-]*(\w[_./:=]+\w|[a-z][A-Z]|\d)[\w./:=-]*('s)?"  # names in camel or snake case, paths, with digits
    r"|(?<!['\w])([A-Z]{2,}\w*|µ?\w\.?)('s)?(?!['\w])",  # abbreviations, constants, letters
    re.DOTALL,
)


@dataclass(frozen=True)
class Text:
    """A piece of prose and its place."""

    file: str
    line: int
    kind: Literal["docstring", "comment", "message", "page"]
    text: str

    @property
    def paragraph(self) -> str:
        """The text on one line of Markdown, with names and code marked as code."""
        marked = CODE.sub(lambda code: "`X`." if code[0].endswith(".") else "`X`", self.text)
        return re.sub(r"\s+", " ", marked).strip().lstrip("#->*+ ")

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {' '.join(self.text.split())[:160]}"


def _listed(*patterns: str) -> list[str]:
    return subprocess.check_output(["git", "-C", str(CHECKOUT), "ls-files", *patterns], text=True).split()


def files(*patterns: str) -> Iterator[str]:
    """The checkout's own sources, without those of tests."""
    return (name for name in _listed(*patterns) if not name.startswith(WITHOUT) and not name.endswith("_test.go"))


def of_python(file: str, source: str) -> Iterator[Text]:
    """Docstrings, of attributes too, and comments."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", [])
        for statement in body if isinstance(body, list) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                value = statement.value.value
                if isinstance(value, str) and value.strip():
                    yield Text(file, statement.lineno, "docstring", value)
    comments = [
        (token.start[0], token.start[1], token.string)
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    yield from _comments(file, comments, "#")


def of_lines(file: str, source: str, mark: str) -> Iterator[Text]:
    """Comments that stand on lines of their own, after ``mark``."""
    found = [
        (number, len(line) - len(line.lstrip()), line.strip())
        for number, line in enumerate(source.splitlines(), start=1)
        if line.strip().startswith(mark)
    ]
    return _comments(file, found, mark)


def _comments(file: str, lines: list[tuple[int, int, str]], mark: str) -> Iterator[Text]:
    """Comments of lines that follow one another at the same column, joined."""
    lines = [line for line in lines if not DIRECTIVE.match(line[2])]
    for _, block in groupby(enumerate(lines), key=lambda item: (item[1][0] - item[0], item[1][1])):
        rows = [line for _, line in block]
        text = "\n".join(row[2].removeprefix(mark).strip() for row in rows).strip()
        if text:
            yield Text(file, rows[0][0], "comment", text)


def of_messages() -> Iterator[Text]:
    """Texts with a code, and their hints, from the catalogue."""
    file = "tests/golden/messages.tsv"
    for number, row in enumerate((CHECKOUT / file).read_text().splitlines(), start=1):
        _, *texts = row.split("\t")
        yield from (Text(file, number, "message", text.replace(r"\n", " ")) for text in texts if text)


def of_markdown(file: str, source: str) -> Iterator[Text]:
    """Headings, paragraphs, items of lists and cells of tables."""
    shown = {"code_inline": "`{0}`", "softbreak": "\n", "text": "{0}", "image": "{0}"}
    line = 0
    for token in MARKDOWN.parse(source):
        line = token.map[0] + 1 if token.map else line
        text = "".join(shown.get(part.type, "").format(part.content) for part in token.children or [])
        if text.strip():
            yield Text(file, line, "page", text)


IN_PLANS = "peers/kernel-tcp/kernel_tcp.py"
"""A program whose digest is in plans: other words in it would be other runs."""


def everything() -> list[Text]:
    """All prose."""
    found: list[Text] = []
    for name in files("*.py"):
        if name != IN_PLANS:
            found += of_python(name, (CHECKOUT / name).read_text())
    for name in files("*.go"):
        found += of_lines(name, (CHECKOUT / name).read_text(), "//")
    for name in files("*.yaml", "*.yml"):
        found += of_lines(name, (CHECKOUT / name).read_text(), "#")
    for name in _listed(*PAGES):
        found += of_markdown(name, (CHECKOUT / name).read_text())
    return [*found, *of_messages()]
