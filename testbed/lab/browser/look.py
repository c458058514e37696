"""What a reader would stumble over in a page: missing images, errors, and what is wider than the screen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.lab.browser.chromium import Browser

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
    """A page at one width (CSS pixels). ``problems`` are in words, none for a page that is fine; ``pictures`` is how
    many images and drawings it has, ``text`` the number of characters to be read."""

    width: int
    problems: list[str]
    pictures: int
    text: int


def look(browser: Browser, page: Path, width: int, picture: Path | None = None) -> Look:
    """Open the page at this width and look at it; ``picture``: where a PNG of it goes."""
    session = browser.open(page, width)
    found: dict[str, Any] = browser.evaluate(session, _MEASURE)
    if picture is not None:
        browser.picture(session, picture)
    problems = [f"image missing: {source}" for source in found["missing"]]
    if found["empty"]:
        problems.append(f"{found['empty']} drawings have no height")
    if found["overflow"] > 0 or found["wide"]:
        wide = ", ".join(found["wide"])
        problems.append(f"wider than the screen by {found['overflow']} pixels: {wide}")
    problems += [text for event in browser.events(session) if (text := _problem(event))]
    return Look(width, problems, int(found["pictures"]), int(found["text"]))


def _problem(event: dict[str, Any]) -> str:
    method, parameters = event.get("method"), event.get("params", {})
    if method == "Runtime.exceptionThrown":
        return f"error: {parameters['exceptionDetails'].get('text')}"
    if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
        return f"console {parameters['type']}: {parameters['args'][:1]}"
    if method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
        entry = parameters["entry"]
        return f"{entry['level']}: {entry['text']} {entry.get('url', '')}".strip()
    if method == "Network.loadingFailed" and not parameters.get("canceled"):
        return f"not loaded: {parameters.get('errorText')}"
    if method == "Network.requestWillBeSent" and parameters["request"]["url"].startswith("http"):
        return f"asks the network for {parameters['request']['url']}"
    return ""
