"""Panels as all dashboards have them: sizes, units, legends, colours. Each is Grafana's JSON without its place."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dashboards import source
from dashboards.source import RUN, Curve
from testbed.judge.status import EARLIER, Status
from testbed.series import Table
from testbed.series.influxql import select_table
from testbed.series.tables import MEASUREMENT

Panel = dict[str, Any]

UNITS = {
    "": "percentunit",
    "bit/s": "bps",
    "bytes": "bytes",
    "Interests": "short",
    "Interests/s": "pps",
    "ms": "ms",
    "packets": "short",
    "packets/s": "pps",
    "s": "s",
    "µs": "µs",
}
"""Grafana's name of each unit of the catalogue but those of plain numbers; what has none is a share."""

FULL, HALF, THIRD = 24, 12, 8
"""Widths, of 24 columns: at 1280 pixels a half has room for a plot with its axis and legend."""

_EXPECTED = "#8e8e8e"
"""Colour of expectations, the law's included: visible on dark and on light."""

CONNECTIONS = ("#3b7fc4", "#e0812b", "#1a9c77", "#b665b0", "#b8a000", "#56b4e9", "#d0433b", "#7a6f63")
"""The colour of each connection, by its index from 1, in every plot: distinguishable for the colour-blind (after Okabe
and Ito), of middle lightness, for both themes."""

_NAMES = ("nkp24", "previous", "delivery-rate", "minrtt", "blest", "ecf", "cubic", "bbr", "reno", "mptcp")
POLICIES = dict(zip(_NAMES, (*CONNECTIONS, "#5a4fcf", "#00838f"), strict=True))
"""The colour of each policy, where curves or bars are of policies."""

GREY, GREEN, RED, AMBER, PURPLE = "#6e7077", "#1a7f4b", "#c4314b", "#b8620a", "#7b4fa3"
"""Under white text in both themes."""

_STATUSES = {
    Status.PASS: ("PASS", GREEN),
    Status.INCONCLUSIVE: ("inconclusive", AMBER),
    Status.INSUFFICIENT_DATA: ("insufficient data", AMBER),
    Status.UNSUPPORTED: ("unsupported", AMBER),
    Status.MISSING: ("MISSING", RED),
    Status.ERROR: ("ERROR", PURPLE),
    Status.FAIL: ("FAIL", RED),
    Status.UNTRUSTED: ("UNTRUSTED", AMBER),
    Status.SKIPPED: ("skipped", GREY),
}
STATES = {
    "on": ("ON", GREY),
    **{status.value: shown for status, shown in _STATUSES.items()},
    **{word: _STATUSES[status] for word, status in EARLIER.items()},
}
"""The state of a run or of a check, by its word in the database: what is shown, and its colour. Points of earlier
versions have other words."""

_OUTCOMES = {"0": ("UNTRUSTED", AMBER), "1": ("FAIL", RED), "2": ("PASS", GREEN)}
_OUTCOMES |= dict.fromkeys(("3", "4"), ("ERROR", PURPLE))
"""Outcomes kept for ever, by the sum of ``passed``, ``trusted`` and three times ``broken``."""

NOTHING = "No points yet. If none come: the run has no such traffic, broke down, or is archived (open its report)."
"""Instead of a plot without data. Grafana has one text for a panel, also before its data are there."""

_COLOURED = {
    # Grafana 9.3 reads the first, later ones the second.
    "custom.displayMode": "color-background-solid",
    "custom.cellOptions": {"type": "color-background", "mode": "basic"},
}
_MARK = {"text": "▶", "color": CONNECTIONS[0], "index": 0}
_MARKED = [{"type": "regex", "options": {"pattern": ".+", "result": _MARK}}]

_NO_COLUMNS: Mapping[str, Any] = MappingProxyType({})
_LAST = {"calcs": ["lastNotNull"], "values": False}
_LEGEND = {"calcs": [], "displayMode": "list", "placement": "bottom"}


def lines(
    title: str,
    description: str,
    curves: Sequence[Curve],
    *,
    width: int = HALF,
    height: int = 8,
    most: float | None = None,
    soft_most: float | None = None,
    points: bool = False,
    nothing: str = NOTHING,
) -> Panel:
    """A plot over time.

    A series has the colour of its policy, or of its connection, whose index follows a slash or dash; figures are
    distinguished by colour themselves. The second run's curves are dashed, a receiver's dotted. Expectations (the
    law, a configured rate) are drawn thin, grey and dashed. The space between the series "low <i>" and "high <i>" is
    filled. ``most`` bounds the axis, ``soft_most`` is what it shows at the least, else as the first curve has it.
    """
    tags = {tag for curve in curves for tag in re.findall(r"\$tag_(\w+)", curve.alias)}
    overrides = _by_policy() if tags & {"policy", "column"} and "figure" not in tags else []
    bands = any(curve.expected == "low" for curve in curves)
    for index, color in enumerate(CONNECTIONS, start=1):
        if tags & {"connection", "flow"}:
            overrides.append(_override(f"/[/-]{index}( |$)/", color=_fixed(color)))
        overrides += _band(index, color) if bands else []
    overrides.append(_override("/^2nd /", **{"custom.lineStyle": {"fill": "dash", "dash": [10, 10]}}))
    overrides.append(_override("/ receiver( |$)/", **{"custom.lineStyle": {"fill": "dot", "dash": [2, 8]}}))
    expected = next((curve.expected for curve in curves if curve.expected not in ("", "low", "high")), None)
    if expected:
        dashes = {"custom.lineWidth": 1, "custom.lineStyle": {"fill": "dash", "dash": [6, 4]}}
        overrides.append(_override(f"/^{expected}/", color=_fixed(_EXPECTED), **dashes))
    # Axes of one width, so that all plots of a page begin at the same place.
    custom: Panel = {"axisWidth": 72, "fillOpacity": 0, "lineWidth": 2, "showPoints": "always" if points else "auto"}
    defaults: Panel = {"color": {"mode": "palette-classic"}, "custom": custom, "min": 0}
    if most is not None:
        defaults["max"] = most
    if (soft_most := curves[0].soft_most if soft_most is None else soft_most) is not None:
        custom["axisSoftMax"] = soft_most
    options = {"legend": {**_LEGEND, "showLegend": True}, "tooltip": {"mode": "multi", "sort": "asc"}}
    panel = _panel("timeseries", title, description, width, height, nothing, options, defaults, overrides)
    defaults["unit"] = _unit(curves[0].unit)
    targets = [source.target(curve.query, chr(ord("A") + i), curve.alias) for i, curve in enumerate(curves)]
    return {**panel, "interval": "100ms", "targets": targets}


def number(title: str, description: str, figure: Curve, *, red_from: float | None = None, nothing: str = "–") -> Panel:
    """A number, or one for each series by its alias; red from ``red_from`` on."""
    red = [{"value": red_from, "color": RED}] if red_from is not None else []
    defaults = {"unit": _unit(figure.unit), "thresholds": _steps("text", *red)}
    options = {"colorMode": "value", "textMode": "value_and_name" if figure.alias else "value", "reduceOptions": _LAST}
    return _stat(title, description, source.target(figure.query, alias=figure.alias), nothing, options, defaults)


def outcomes(title: str, description: str, query: str, alias: str, *, height: int, nothing: str) -> Panel:
    """Outcomes by day, a row for each series; the query's answer has every day, for one alone would have no width."""
    options = {
        "colWidth": 0.9,
        "rowHeight": 0.85,
        "showValue": "never",
        "legend": {**_LEGEND, "showLegend": False},
        "tooltip": {"mode": "single", "sort": "asc"},
    }
    looks = {"fillOpacity": 90, "lineWidth": 0}
    defaults = {"custom": looks, "mappings": _mappings(_OUTCOMES), "thresholds": _steps(GREY)}
    panel = _panel("status-history", title, description, FULL, height, nothing, options, defaults)
    return {**panel, "interval": "1d", "targets": [source.target(query, alias=alias)]}


def bars(title: str, description: str, query: str, alias: str, *, bound: str, height: int, nothing: str) -> Panel:
    """A bar for each series, from zero, with its number, in its policy's colour, and a grey one for the ``bound``, a
    single number."""
    defaults = {"color": _fixed(GREY), "min": 0, "unit": "none"}
    options = {
        "displayMode": "basic",
        "minVizHeight": 10,
        "minVizWidth": 0,
        "orientation": "horizontal",
        "reduceOptions": _LAST,
        "showUnfilled": False,
        "valueMode": "color",
    }
    overrides = [*_by_policy(), _override("bound", color=_fixed(_EXPECTED))]
    panel = _panel("bargauge", title, description, HALF, height, nothing, options, defaults, overrides)
    return {**panel, "targets": [source.target(query, "A", alias), source.target(bound, "B", "bound")]}


def rows(
    title: str,
    description: str,
    query: str,
    *,
    widths: Mapping[str, int] = _NO_COLUMNS,
    titles: Mapping[str, str] = _NO_COLUMNS,
    units: Mapping[str, str] = _NO_COLUMNS,
    links: Mapping[str, Sequence[tuple[str, str]]] = _NO_COLUMNS,
    hidden: Sequence[str] = (),
    width: int = FULL,
    height: int = 8,
    nothing: str = NOTHING,
    transformations: Sequence[tuple[str, Panel]] = (),
    marked: str = "",
) -> Panel:
    """A table. By a column's name: ``widths`` in pixels, ``titles``, Grafana's ``units``, and ``links``, each of which
    is a title and a URL; ``hidden`` columns are for links only. ``marked`` queries the rows to mark, by ``mark``."""
    overrides = [
        # ``nothing`` is for a table without rows; a cell without a value has a dash.
        _override("/.*/", noValue="–"),
        *(_override(name, displayName=shown) for name, shown in titles.items()),
        *(_override(name, **{"custom.width": pixels}) for name, pixels in widths.items()),
        *(_override(name, unit=unit) for name, unit in units.items()),
        *(
            _override(name, links=[{"title": t, "url": u, "targetBlank": u.startswith("/public")} for t, u in each])
            for name, each in links.items()
            if each
        ),
        *(_override(name, **{"custom.hidden": True}) for name in hidden),
        *(_override(name, mappings=_mappings(STATES), **_COLOURED) for name in ("state", "status", "verdict")),
    ]
    targets = [source.target(query, rows=True)]
    if marked:
        targets.append(source.target(marked, "B", rows=True))
        transformations = [("merge", {}), ("organize", {"indexByName": {"mark": 0}}), *transformations]
        overrides.append(_override("mark", displayName=" ", mappings=_MARKED, **_COLOURED, **{"custom.width": 40}))
    footer = {"countRows": False, "reducer": [], "show": False}
    options = {"cellHeight": "sm", "footer": footer, "frameIndex": 0, "showHeader": True, "showTypeIcons": False}
    panel = _panel("table", title, description, width, height, nothing, options, {}, overrides)
    return {**panel, "targets": targets, "transformations": _steps_of(transformations)}


def rows_of_run(title: str, description: str, table: Table, **options: Any) -> Panel:
    """A table of one run, whose rows have no time of their own."""
    return rows(title, description, select_table(table, (RUN,)), hidden=("Time", "time"), **options)


def row(title: str, repeat: str) -> Panel:
    """The head of the panels after it, which are there once for each value of the variable ``repeat``."""
    place = {"h": 1, "w": FULL}
    return {"type": "row", "title": title, "repeat": repeat, "collapsed": False, "panels": [], "gridPos": place}


def _panel(
    kind: str,
    title: str,
    description: str,
    width: int,
    height: int,
    nothing: str,
    options: Panel,
    defaults: Panel,
    overrides: Sequence[Panel] = (),
) -> Panel:
    defaults["noValue"] = nothing
    return {
        "type": kind,
        "title": title,
        "description": description,
        "datasource": source.REFERENCE,
        "fieldConfig": {"defaults": defaults, "overrides": list(overrides)},
        "gridPos": {"h": height, "w": width},
        "options": options,
        "repeatDirection": "h",
        "transformations": [],
        "transparent": False,
    }


def _stat(title: str, description: str, target: Panel, nothing: str, options: Panel, defaults: Panel) -> Panel:
    common = {"graphMode": "none", "justifyMode": "auto", "orientation": "auto"}
    return {**_panel("stat", title, description, 4, 4, nothing, {**common, **options}, defaults), "targets": [target]}


def _override(of: str, **properties: Any) -> Panel:
    """Other properties for the fields of a name, or of a regular expression in slashes."""
    matcher = {"id": "byRegexp" if of.startswith("/") else "byName", "options": of}
    return {"matcher": matcher, "properties": [{"id": name, "value": value} for name, value in properties.items()]}


def _by_policy() -> list[Panel]:
    return [_override(f"/(^| ){policy}(?![\\w-])/", color=_fixed(color)) for policy, color in POLICIES.items()]


def _fixed(color: str) -> Panel:
    return {"mode": "fixed", "fixedColor": color}


def _band(index: int, color: str) -> list[Panel]:
    edge = {
        "custom.lineWidth": 0,
        "custom.hideFrom": {"legend": True, "tooltip": True, "viz": False},
        "custom.showPoints": "never",
        "color": _fixed(color),
    }
    low, fill = f"low {index}", {"custom.fillBelowTo": f"low {index}", "custom.fillOpacity": 25}
    return [_override(low, **edge), _override(f"high {index}", **edge, **fill)]


def _mappings(shown: dict[str, tuple[str, str]]) -> list[Panel]:
    options = {
        word: {"text": text, "color": color, "index": i} for i, (word, (text, color)) in enumerate(shown.items())
    }
    return [{"type": "value", "options": options}]


def _steps(color: str, *further: Panel) -> Panel:
    return {"mode": "absolute", "steps": [{"value": None, "color": color}, *further]}


def _steps_of(transformations: Sequence[tuple[str, Panel]]) -> list[Panel]:
    return [{"id": name, "options": options} for name, options in transformations]


def _unit(unit: str) -> str:
    return UNITS.get(unit, "none")


VERDICT = _stat(
    "Verdict",
    "Grey while the run is on; green only when all that was asked held.",
    source.target(select_table(Table(MEASUREMENT, ("state",)), (RUN,), newest=1), rows=True),
    "NO RUN YET",
    {"colorMode": "background", "textMode": "auto", "reduceOptions": {**_LAST, "fields": "/^state$/"}},
    {"mappings": _mappings(STATES), "thresholds": _steps(GREY)},
)
"""The state of a run, a word; grey while it is on and where there is none."""
