"""Hooks of MkDocs beyond mkdocs.yml. They run in the site's own environment, so they import nothing of the testbed.

- The navigation is docs/README.md: its headings are the groups, its links the pages.
- Pages from outside of docs/ become pages of the site.
- A link to any other file of the repository leads to it where ``repo_url`` says where that is; else it is the file's
  name.
- GitHub wants a bar in code to be escaped inside a table; Python-Markdown shows the backslash.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

CHECKOUT = Path(__file__).resolve().parents[3]
INDEX = "README.md"
OUTSIDE = {
    "README.md": "about.md",
    "CHANGELOG.md": "changelog.md",
    ".github/CONTRIBUTING.md": "contributing.md",
    ".github/SECURITY.md": "security.md",
    "data/reference/README.md": "reference-results.md",
}
"""Pages outside of docs/, and what the site calls them."""
SCRIPTS = CHECKOUT / ".build" / "mkdocs" / "scripts"
OWN_SCRIPTS = {"mermaid.min.js": "mermaid.min.js", "index.js": "iframe-worker.js"}
"""Scripts that pages would else fetch from elsewhere, with their names in mkdocs.yml: one draws diagrams, one searches
pages that are read from a folder."""

_CODE_OR_LINK = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]*`(?!\]))|\[(?P<text>(?:[^\[\]`]|`[^`\n]*`)*)\]\((?P<link>[^()\s]+)\)",
    re.DOTALL | re.MULTILINE,
)
_GROUP = re.compile(r"^## (.+)$", re.MULTILINE)
_ENTRY = re.compile(r"\[([^\]]+)\]\(([^()\s#]+\.md)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from the index."""
    config.nav = navigation((Path(config.docs_dir) / INDEX).read_text(encoding="utf-8"))
    return config


def navigation(index: str) -> list[Any]:
    """The navigation by the index's text: ``[{"Home": "README.md"}, {group: [{title: page}, …]}, …]``; of a page that
    is in it twice, the first place counts."""
    nav: list[Any] = [{"Home": INDEX}]
    seen = {INDEX}
    _, *parts = _GROUP.split(index)
    for group, text in zip(parts[::2], parts[1::2], strict=True):
        pages = []
        for title, link in _ENTRY.findall(text):
            page = within(link, "docs")
            if page is not None and page not in seen:
                seen.add(page)
                pages.append({title: page})
        nav.append({group: pages})
    return nav


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside, and scripts."""
    from mkdocs.structure.files import File  # what is tested here needs no MkDocs

    for path, name in OUTSIDE.items():
        files.append(File.generated(config, name, content=(CHECKOUT / path).read_text(encoding="utf-8")))
    for script, name in OWN_SCRIPTS.items():
        files.append(File.generated(config, name, abs_src_path=str(SCRIPTS / script)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    outside = {name: path for path, name in OUTSIDE.items()}
    path = outside.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    return relinked(markdown, posixpath.dirname(path), config.repo_url or "")


def relinked(markdown: str, folder: str, repository: str) -> str:
    """The text of a page that is in this folder of the repository, with the site's links."""
    start = within(folder, "") or "."

    def of(match: re.Match[str]) -> str:
        whole, link = match.group(0), match.group("link")
        if match.group("code") is not None:
            return whole if whole.startswith("```") else whole.replace(r"\|", "|")
        if re.match(r"[a-z]+:|#", link):
            return whole
        place, mark, anchor = link.partition("#")
        page = within(place, folder)
        if page is not None:
            return f"[{match.group('text')}]({posixpath.relpath(page, start)}{mark}{anchor})"
        path = posixpath.normpath(posixpath.join(folder, place))
        if repository:
            return f"[{match.group('text')}]({repository.rstrip('/')}/blob/main/{path}{mark}{anchor})"
        text = match.group("text")
        return text if text.strip("`") in (path, posixpath.basename(path)) else f"{text} (`{path}`)"

    return _CODE_OR_LINK.sub(of, markdown)


def within(link: str, folder: str) -> str | None:
    """The site's name of what a page in this folder of the repository links to; None for what is no part of it."""
    path = posixpath.normpath(posixpath.join(folder, link))
    if path in OUTSIDE:
        return OUTSIDE[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else None
