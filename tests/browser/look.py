"""What a reader would stumble over in a page: missing images, errors, and what is wider than the screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from testbed.machine.browser import required

# A table that scrolls inside its own box, and what is in it, is no overflow of the page.
_MEASURE = """
(() => {
  const width = document.documentElement.clientWidth;
  const scrolls = e => { for (let p = e.parentElement; p; p = p.parentElement)
    if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(p).overflowX)) return true; return false; };
  const name = e => e.tagName.toLowerCase() + (e.getAttribute('class') ? '.' + e.getAttribute('class') : '') + ' “'
    + (e.textContent || '').trim().slice(0, 40) + '”';
  const wide = [...document.body.querySelectorAll('*')].filter(e => !e.closest('svg') || e.tagName === 'svg')
    .filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e)).map(name);
  const images = [...document.images];
  return {
    width, overflow: document.documentElement.scrollWidth - width, wide: wide.slice(0, 5),
    missing: images.filter(i => !i.complete || i.naturalWidth === 0).map(i => i.src.slice(0, 200)),
    pictures: images.length + document.querySelectorAll('svg[role=img]').length,
    empty: [...document.querySelectorAll('svg[role=img]')].filter(s => s.getBoundingClientRect().height < 20).length,
    text: document.body.innerText.length,
  };
})()
"""


@dataclass(frozen=True)
class Look:
    """A page at one width (CSS pixels). ``problems`` are sentences, none for a page without any; ``pictures`` is how
    many images and drawings it has, ``text`` its number of readable characters."""

    width: int
    problems: list[str]
    pictures: int
    text: int


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start this machine's own browser; raises NoBrowser without one."""
    with sync_playwright() as playwright:
        arguments = ["--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        browser = playwright.chromium.launch(executable_path=required(), args=arguments)
        yield browser
        browser.close()


def look(browser: Browser, file: Path, width: int) -> Look:
    """Open the page at this width and return its problems."""
    page = browser.new_page(viewport={"width": width, "height": 900}, is_mobile=width < 600)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on(
        "console",
        lambda said: (
            problems.append(f"console {said.type}: {said.text}")
            if said.type in ("error", "warning", "assert")
            else None
        ),
    )
    page.on("requestfailed", lambda request: problems.append(f"not loaded: {request.failure} {request.url}"))
    page.on(
        "request",
        lambda request: (
            problems.append(f"asks the network for {request.url}") if request.url.startswith("http") else None
        ),
    )
    page.goto(file.resolve().as_uri())
    found: dict[str, Any] = page.evaluate(_MEASURE)
    page.close()
    problems += [f"image missing: {source}" for source in found["missing"]]
    if found["empty"]:
        problems.append(f"{found['empty']} drawings have no height")
    if found["overflow"] > 0 or found["wide"]:
        wide = ", ".join(found["wide"])
        problems.append(f"wider than the screen by {found['overflow']} pixels: {wide}")
    return Look(width, problems, int(found["pictures"]), int(found["text"]))
