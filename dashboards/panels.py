"""Panels as all dashboards have them: sizes, units, legends, colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grafana_foundation_sdk.builders import bargauge, stat, statushistory, table, timeseries
from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as dashboard_builders
from grafana_foundation_sdk.cog import builder as cogbuilder
from grafana_foundation_sdk.cog import variants
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as models

from dashboards import source
from testbed.judge.status import EARLIER, Status

UNITS = {
    "": "percentunit",
    "ratio": "none",
    "cuts": "none",
    "figure": "none",
    "bit/s": "bps",
    "bytes": "bytes",
    "MiB/s": "MiBs",
    "checks": "none",
    "ms": "ms",
    "packets": "short",
    "packets/s": "pps",
    "runs": "none",
    "s": "s",
    "tasks": "short",
    "µs": "µs",
}
"""Grafana's name of each unit of the catalogue; what has none is a share."""

FULL, HALF, THIRD = 24, 12, 8
"""Widths, of 24 columns: at 1280 pixels a half has room for a plot with its axis and legend."""

_ASKED = "#8e8e8e"
"""Colour of expectations, the law's included: visible on dark and on light."""

CONNECTIONS = ("#3b7fc4", "#e0812b", "#1a9c77", "#b665b0", "#b8a000", "#56b4e9", "#d0433b", "#7a6f63")
"""The colour of each connection, by its index from 1, in every plot: distinguishable for the colour-blind (after Okabe
and Ito), of middle lightness, for both themes."""

GREY, GREEN, RED, AMBER = "#6e7077", "#1a7f4b", "#c4314b", "#b8620a"
"""Under white text in both themes."""

_STATUSES = {
    Status.PASS: ("PASS", GREEN),
    Status.INCONCLUSIVE: ("inconclusive", AMBER),
    Status.INSUFFICIENT_DATA: ("insufficient data", AMBER),
    Status.UNSUPPORTED: ("unsupported", AMBER),
    Status.MISSING: ("MISSING", RED),
    Status.ERROR: ("ERROR", RED),
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

OUTCOMES = {0: ("UNTRUSTED", AMBER), 1: ("FAIL", RED), 2: ("PASS", GREEN)}
"""Outcomes kept for ever, by the sum of ``passed`` and ``trusted``."""

NOTHING = "Nothing of this was sampled in the run that is chosen."
"""Instead of a plot without data: there is no run yet, it has no such traffic, or it is not among those that are kept
on one clock."""


def lines(
    title: str,
    description: str,
    unit: str,
    queries: Sequence[tuple[str, str]],
    *,
    width: int = HALF,
    height: int = 8,
    asked: str = "",
    limit: float | None = None,
    most: float | None = None,
    least: float | None = 0,
    soft_most: float | None = None,
    bands: bool = False,
    by_connection: bool = True,
    points: bool = False,
    nothing: str = NOTHING,
) -> timeseries.Panel:
    """A plot over time of (query, alias) pairs.

    Series whose name ends in a connection's index have its colour, unless ``by_connection`` is False: runs side by side
    are distinguished by colour themselves. Series whose name matches the regular expression
    ``asked`` (the law, a configured rate) are drawn thin, grey and dashed. With ``bands`` the space between the series
    "low <i>" and "high <i>" is filled. ``limit`` is a red line; ``least`` and ``most`` bound the axis, ``soft_most`` is
    what it shows at the least.
    """
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(source.REFERENCE)
        .targets(source.targets(*queries))
        .unit(UNITS[unit])
        .span(width)
        .height(height)
        .interval("100ms")
        .line_width(2)
        .fill_opacity(0)
        .show_points(common.VisibilityMode.ALWAYS if points else common.VisibilityMode.AUTO)
        .no_value(nothing)
        .color_scheme(dashboard_builders.FieldColor().mode(models.FieldColorModeId.PALETTE_CLASSIC))
        .legend(_legend(True))
        .tooltip(common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI))
    )
    if least is not None:
        panel.min(least)
    if most is not None:
        panel.max(most)
    if soft_most is not None:
        panel.axis_soft_max(soft_most)
    for index, color in enumerate(CONNECTIONS, start=1):
        if by_connection:
            panel.override_by_regexp(
                f"/[/-]{index}( |$)/", [models.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": color})]
            )
        if bands:
            _band(panel, index, color)
    if limit is not None:
        panel.thresholds(_steps((None, "transparent"), (limit, "red")))
        panel.thresholds_style(common_builders.GraphThresholdsStyleConfig().mode(common.GraphTresholdsStyleMode.LINE))
    if asked:
        panel.override_by_regexp(
            asked,
            [
                models.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": _ASKED}),
                models.DynamicConfigValue("custom.lineWidth", 1),
                models.DynamicConfigValue("custom.lineStyle", {"fill": "dash", "dash": [6, 4]}),
            ],
        )
    return panel


def number(
    title: str,
    description: str,
    unit: str,
    query: str,
    *,
    width: int = 4,
    red_from: float | None = None,
    calculation: str = "lastNotNull",
    alias: str = "",
    nothing: str = "–",
) -> stat.Panel:
    """A number, or one for each series by its ``alias``; red from ``red_from`` on."""
    steps = _steps((None, "text"), (red_from, RED)) if red_from is not None else _steps((None, "text"))
    panel = _stat(title, description, source.targets((query, alias))[0], width, nothing)
    panel.reduce_options(common_builders.ReduceDataOptions().calcs([calculation]).values(False))
    panel.text_mode(common.BigValueTextMode.VALUE_AND_NAME if alias else common.BigValueTextMode.VALUE)
    return panel.unit(UNITS[unit]).thresholds(steps)


def state(title: str, description: str, query: str, *, width: int = 4) -> stat.Panel:
    """The state of a run, a word; grey while it is on and where there is none."""
    return (
        _stat(title, description, source.table(query), width, "NO RUN")
        .reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]).values(False).fields("/^state$/"))
        .mappings([_states()])
        .thresholds(_steps((None, GREY)))
        .color_mode(common.BigValueColorMode.BACKGROUND)
    )


def outcomes(
    title: str, description: str, query: str, who: Sequence[str], *, height: int = 10, nothing: str = NOTHING
) -> statushistory.Panel:
    """Outcomes by day, a row for each combination of the tags ``who``, those with the latest on top.

    The query's answer is a table of ``Time``, these tags and ``Value``. A database sorts series by their tags, so
    Grafana sorts the table, latest first, cuts it into series in the order in which they come, and sorts each by time.
    """
    columns = {name: i for i, name in enumerate(["Time", *who, "Value"])}
    transformations = {
        "organize": {"indexByName": columns, "excludeByName": {}, "renameByName": {}},
        "sortBy": {"sort": [{"field": "Time", "desc": True}]},
        "partitionByValues": {"fields": list(who)},
    }
    steps = [models.DataTransformerConfig(name, options=options) for name, options in transformations.items()]
    steps += [
        models.DataTransformerConfig("sortBy", options={"sort": [{"field": "Time"}]}),
        models.DataTransformerConfig(
            "organize", options={"excludeByName": dict.fromkeys(who, True), "indexByName": {}, "renameByName": {}}
        ),
    ]
    return (
        statushistory.Panel()
        .title(title)
        .description(description)
        .datasource(source.REFERENCE)
        .with_target(source.table(query))
        .transformations(steps)
        .mappings([_outcome_map()])
        .thresholds(_steps((None, GREY)))
        .span(FULL)
        .height(height)
        .interval("1d")
        .no_value(nothing)
        .show_value(common.VisibilityMode.NEVER)
        .row_height(0.85)
        .col_width(0.9)
        .fill_opacity(90)
        .line_width(0)
        .legend(_legend(False))
    )


def bars(
    title: str,
    description: str,
    unit: str,
    query: str,
    alias: str,
    *,
    bound: str,
    width: int = FULL,
    height: int = 8,
    nothing: str = NOTHING,
) -> bargauge.Panel:
    """A bar for each series, from zero, with its number, and a grey one for the ``bound``, a single number."""
    return (
        bargauge.Panel()
        .title(title)
        .description(description)
        .datasource(source.REFERENCE)
        .targets(source.targets((query, alias), (bound, "bound")))
        .override_by_name("bound", [models.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": _ASKED})])
        .unit(UNITS[unit])
        .min(0)
        .span(width)
        .height(height)
        .no_value(nothing)
        .orientation(common.VizOrientation.HORIZONTAL)
        .display_mode(common.BarGaugeDisplayMode.BASIC)
        .show_unfilled(False)
        .reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .color_scheme(dashboard_builders.FieldColor().mode(models.FieldColorModeId.FIXED).fixed_color(CONNECTIONS[0]))
    )


def rows(
    title: str,
    description: str,
    query: str,
    *,
    width: int = FULL,
    height: int = 8,
    units: dict[str, str] | None = None,
    links: dict[str, tuple[str, str]] | None = None,
    hidden: Sequence[str] = (),
    titles: dict[str, str] | None = None,
    widths: dict[str, int] | None = None,
    nothing: str = NOTHING,
) -> table.Panel:
    """A table. ``units`` are those of columns, ``links`` a (title, URL) per column, ``hidden`` columns are
    there for links only, ``titles`` stand above columns instead of their names, ``widths`` are in pixels."""
    panel = (
        table.Panel()
        .title(title)
        .description(description)
        .datasource(source.REFERENCE)
        .with_target(source.table(query))
        .span(width)
        .height(height)
        .show_header(True)
        .no_value(nothing)
        # That is for a table without rows; a cell without a value has a dash.
        .override_by_regexp("/.*/", [models.DynamicConfigValue("noValue", "–")])
    )
    for column, title_of in (titles or {}).items():
        panel.override_by_name(column, [models.DynamicConfigValue("displayName", title_of)])
    for column, pixels in (widths or {}).items():
        panel.override_by_name(column, [models.DynamicConfigValue("custom.width", pixels)])
    for column, unit in (units or {}).items():
        panel.override_by_name(column, [models.DynamicConfigValue("unit", unit)])
    for column, (text, url) in (links or {}).items():
        link = {"title": text, "url": url, "targetBlank": url.startswith("/public")}
        panel.override_by_name(column, [models.DynamicConfigValue("links", [link])])
    for column in hidden:
        panel.override_by_name(column, [models.DynamicConfigValue("custom.hidden", True)])
    for column in ("state", "status", "verdict"):
        panel.override_by_name(
            column,
            [
                models.DynamicConfigValue("mappings", [_states()]),
                # Grafana 9.3 reads the first, later ones the second.
                models.DynamicConfigValue("custom.displayMode", "color-background-solid"),
                models.DynamicConfigValue("custom.cellOptions", {"type": "color-background", "mode": "basic"}),
            ],
        )
    return panel


def _stat(
    title: str, description: str, target: cogbuilder.Builder[variants.Dataquery], width: int, nothing: str
) -> stat.Panel:
    return (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(source.REFERENCE)
        .with_target(target)
        .span(width)
        .height(4)
        .no_value(nothing)
        .graph_mode(common.BigValueGraphMode.NONE)
    )


def _band(panel: timeseries.Panel, index: int, color: str) -> None:
    hidden = {"legend": True, "tooltip": True, "viz": False}
    edge = [
        models.DynamicConfigValue("custom.lineWidth", 0),
        models.DynamicConfigValue("custom.hideFrom", hidden),
        models.DynamicConfigValue("custom.showPoints", "never"),
        models.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": color}),
    ]
    panel.override_by_name(f"low {index}", edge)
    panel.override_by_name(
        f"high {index}",
        [
            *edge,
            models.DynamicConfigValue("custom.fillBelowTo", f"low {index}"),
            models.DynamicConfigValue("custom.fillOpacity", 25),
        ],
    )


def _legend(shown: bool) -> common_builders.VizLegendOptions:
    return (
        common_builders.VizLegendOptions()
        .display_mode(common.LegendDisplayMode.LIST)
        .placement(common.LegendPlacement.BOTTOM)
        .show_legend(shown)
        .calcs([])
    )


def _states() -> models.ValueMap:
    return models.ValueMap(
        options={
            word: models.ValueMappingResult(text=text, color=color, index=i)
            for i, (word, (text, color)) in enumerate(STATES.items())
        }
    )


def _outcome_map() -> models.ValueMap:
    return models.ValueMap(
        options={
            str(code): models.ValueMappingResult(text=text, color=color, index=code)
            for code, (text, color) in OUTCOMES.items()
        }
    )


def _steps(*steps: tuple[float | None, str]) -> Any:
    return (
        dashboard_builders.ThresholdsConfig()
        .mode(models.ThresholdsMode.ABSOLUTE)
        .steps([models.Threshold(value, color) for value, color in steps])
    )
