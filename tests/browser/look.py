"""What a reader stumbles over in a page: missing images, errors, what is hard to read, or wider than the screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, sync_playwright

from testbed.machine.browser import required

# A table that scrolls inside its own box, and what is in it, is no overflow of the page.
_LOAD_ALL = """() => Promise.all([...document.images].map(image => {
  image.loading = "eager"  // else those out of sight may or may not have come yet
  return image.decode().catch(() => null)
}))"""
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
  // The contrast of WCAG 2.1 between a text and its ground, each blended over what shows through it.
  const part = x => (x /= 255) <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
  const rgb = color => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
  const over = (under, [r, g, b, alpha = 1]) => [r, g, b].map((x, i) => alpha * x + (1 - alpha) * under[i]);
  const ground = e => { const found = []; for (; e; e = e.parentElement) {
    found.unshift(rgb(getComputedStyle(e).backgroundColor)); if (found[0].length < 4) break; }
    return found.reduce(over, [255, 255, 255]); };
  const contrast = e => { const under = ground(e), text = over(under, rgb(getComputedStyle(e).color));
    const [a, b] = [light(text), light(under)];
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); };
  const faint = [...document.body.querySelectorAll('*')].filter(e => !e.closest('svg')
    && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && contrast(e) < 4.5).map(name);
  return {
    faint: faint.slice(0, 5), width, overflow: document.documentElement.scrollWidth - width, wide: wide.slice(0, 5),
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


def look(browser: Browser, file: Path, width: int, colours: Literal["light", "dark"] = "light") -> Look:
    """Open the page at this width and return its problems."""
    size: Any = {"width": width, "height": 900}
    page = browser.new_page(viewport=size, is_mobile=width < 600, color_scheme=colours)
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
    page.evaluate(_LOAD_ALL)
    found: dict[str, Any] = page.evaluate(_MEASURE)
    page.close()
    problems += [f"image missing: {source}" for source in found["missing"]]
    if found["empty"]:
        problems.append(f"{found['empty']} drawings have no height")
    if found["faint"]:
        problems.append(f"hard to read: {', '.join(found['faint'])}")
    if found["overflow"] > 0 or found["wide"]:
        wide = ", ".join(found["wide"])
        problems.append(f"wider than the screen by {found['overflow']} pixels: {wide}")
    return Look(width, problems, int(found["pictures"]), int(found["text"]))
