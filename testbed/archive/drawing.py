"""Compares two SVG drawings as data: what two versions of matplotlib draw of the same points differs by its layout."""

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any
from xml.etree import ElementTree

import numpy as np

MOST_PT = {"points": 0.3, "layout": 4.0, "axes": 12.0}
"""Largest distances of the same thing in two drawings: of data; of texts and legends; and of axes, to which all else is
related. Matplotlib 3.8 to 3.11 draw the same data up to 0.13 pt apart where they simplify a curve (each leaves out what
is within 0.11 pt of it) and up to 0.04 pt elsewhere; 0.3 is a fifth of a curve's width, which nobody sees. By the sizes
of fonts, texts are up to 3.2 pt apart (4 is half a letter), and axes up to 3.6 (12 is a line of text)."""

_SVG, _HREF = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_NUMBER, _TURN = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?"), re.compile(r"rotate\([^ )]+")
_HASH, _AXES, _LEGEND = map(re.compile, (r"[0-9a-f]{10}$", r"\baxes_\d+$", r"\blegend_\d+$"))
_PLACES = ("id", "d", "transform", "x", "y", "width", "height", "clip-path", _HREF)


@np.errstate(all="ignore")  # what is infinite is not near to anything
def unlike(there: str, again: str) -> set[str]:
    """Finds what differs between two drawings, but for what nobody sees: ``marks`` (texts, styles, and what is drawn at
    all), or else ``points`` (of data), ``layout`` (of texts and legends) and ``axes``."""
    found = set()
    try:
        for (mark, places), (other, others) in zip_longest(_read(there), _read(again), fillvalue=(None, ())):
            if mark != other:
                return {"marks"}
            pairs = zip(places, others, strict=True)
            found |= {kind for (kind, a, _), (_, b, size) in pairs if not _are_near(a * size, b * size, MOST_PT[kind])}
    except (ElementTree.ParseError, LookupError, ValueError):
        return {"marks"}
    return found


def _read(drawing: str) -> Iterator[tuple[Any, list[tuple[str, Any, Any]]]]:
    """Each element: all of it but places; and these: whose they are, in parts of their axes, and the axes' size."""
    root = ElementTree.fromstring(drawing[drawing.index("<svg") :])  # without a DOCTYPE there are no entities
    named = {element.get("id", ""): element for element in reversed([*root.iter()])}
    axes, kinds = _numbers(root.get("viewBox", "")), dict.fromkeys(root.iter(), "points")
    for element in root.iter():
        tag, name, places = element.tag.removeprefix(_SVG), element.get("id", ""), []
        if _AXES.search(name):
            edges = _numbers(next(element.iter(f"{_SVG}path"), root).get("d", ""))  # of their background
            axes = np.array([edges.min(axis=0), np.ptp(edges, axis=0)])
            places.append(("axes", axes, 1.0))
        if _LEGEND.search(name) or tag in ("text", "defs"):
            kinds |= dict.fromkeys(element.iter(), "" if tag == "defs" else "layout")
        commands, drawn = zip(*_paths(element, named), strict=True)
        if kind := "layout" if tag == "g" else kinds[element]:  # a definition is compared where it is used
            places += [(kind, (points - axes[0]) / axes[1], axes[1]) for points in drawn]
        said = sorted((key, "" if key in _PLACES and element is not root else value) for key, value in element.items())
        mark = tag, _HASH.sub("", name), said, element.text, (element.tail or "").strip(), len(element), commands
        yield mark, places


def _numbers(text: str) -> Any:
    return np.array(_NUMBER.findall(text), dtype=np.float64).reshape(-1, 2)


def _paths(element: ElementTree.Element, named: Mapping[str, ElementTree.Element]) -> Iterator[tuple[str, Any]]:
    """The commands and the points of each path that an element draws, or that limits it."""
    get, target, clip = element.get, element.get(_HREF), element.get("clip-path")
    used = (named[target[1:]], _numbers(f"{get('x')} {get('y')}")) if target else (element, 0.0)
    for shape, offset in (used, *((limit, 0.0) for limit in (named[clip[5:-1]] if clip else ()))):
        d, x, y, turn = (shape.get(key, "") for key in ("d", "x", "y", "transform"))
        if shape.tag == f"{_SVG}rect":
            d = f"{float(x) + float(shape.get('width', ''))} {float(y) + float(shape.get('height', ''))}"
        for path in re.split("(?=M)", f"{d} {x} {y} {_TURN.sub('', turn)}"):
            commands = re.sub("(L##)+", "L", re.sub("[ \n]", "", _NUMBER.sub("#", path)))
            yield f"{commands}{_TURN.findall(turn)}", _numbers(path) + offset


def _are_near(one: Any, two: Any, most_pt: float) -> bool:
    """Whether two curves are within ``most_pt`` of each other everywhere, whichever points each is drawn by."""
    if one.shape == two.shape and (np.abs(one - two) <= most_pt).all():
        return True
    # No drawing has many more points than another of the same data.
    return 0 < len(one) <= 4 * len(two) + 64 and all(_is_along(*pair, most_pt) for pair in ((one, two), (two, one)))


def _is_along(one: Any, two: Any, most_pt: float) -> bool:
    """Whether one curve is nowhere farther from the other: at its points, and between them."""
    between = one[:-1] + np.linspace(0, 1, 9)[1:-1, None, None] * np.diff(one, axis=0)
    begin, along = two[:-1], np.diff(two, axis=0)
    for point in (*one, *between.reshape(-1, 2)):
        part = ((point - begin) * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-12)
        if not np.hypot(*(begin + np.clip(part, 0, 1)[:, None] * along - point).T).min(initial=np.inf) <= most_pt:
            return False
    return True
