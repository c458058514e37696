"""Panels as all dashboards have them: sizes, units, legends, colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as dashboard_builders
from grafana_foundation_sdk.builders import stat, statetimeline, table, timeseries
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as models

from dashboards import source

UNITS = {
    "": "percentunit",
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

_LAW = "#8e8e8e"

OUTCOMES = {0: ("UNTRUSTED", "orange"), 1: ("FAIL", "red"), 2: ("PASS", "green")}
"""States by the sum of ``passed`` and ``trusted``."""


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
) -> timeseries.Panel:
    """A plot over time of (query, alias) pairs.

    Series whose name matches the regular expression ``asked`` (the law, a configured rate) are drawn thin,
    grey and dashed over what was measured. ``limit`` is a red line; ``least`` and ``most`` bound the axis.
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
        .show_points(common.VisibilityMode.AUTO)
        .color_scheme(dashboard_builders.FieldColor().mode(models.FieldColorModeId.PALETTE_CLASSIC))
        .legend(
            common_builders.VizLegendOptions()
            .display_mode(common.LegendDisplayMode.LIST)
            .placement(common.LegendPlacement.BOTTOM)
            .show_legend(True)
            .calcs([])
        )
        .tooltip(common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI))
    )
    if least is not None:
        panel.min(least)
    if most is not None:
        panel.max(most)
    if limit is not None:
        panel.thresholds(_steps((None, "transparent"), (limit, "red")))
        panel.thresholds_style(
            common_builders.GraphThresholdsStyleConfig().mode(common.GraphTresholdsStyleMode.LINE)
        )
    if asked:
        panel.override_by_regexp(
            asked,
            [
                models.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": _LAW}),
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
) -> stat.Panel:
    """One number; red from ``red_from`` on. ``calculation`` makes it of the series (``max``, …)."""
    steps = _steps((None, "green"), (red_from, "red")) if red_from is not None else _steps((None, "text"))
    return _stat(title, description, query, width, calculation).unit(UNITS[unit]).thresholds(steps)


def outcome(title: str, description: str, query: str, *, width: int = 4) -> stat.Panel:
    """PASS, FAIL or UNTRUSTED, of a state's code."""
    return (
        _stat(title, description, query, width, "lastNotNull")
        .mappings([_outcome_map()])
        .color_mode(common.BigValueColorMode.BACKGROUND)
        .no_value("on, or not judged yet")
    )


def outcomes(
    title: str, description: str, query: str, alias: str, *, height: int = 10
) -> statetimeline.Panel:
    """States over time, a row per series."""
    return (
        statetimeline.Panel()
        .title(title)
        .description(description)
        .datasource(source.REFERENCE)
        .targets(source.targets((query, alias)))
        .mappings([_outcome_map()])
        .span(FULL)
        .height(height)
        .show_value(common.VisibilityMode.AUTO)
        .merge_values(False)
        .row_height(0.8)
        .fill_opacity(80)
        .line_width(0)
        .legend(
            common_builders.VizLegendOptions()
            .display_mode(common.LegendDisplayMode.LIST)
            .placement(common.LegendPlacement.BOTTOM)
            .show_legend(False)
            .calcs([])
        )
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
) -> table.Panel:
    """A table. ``units`` are those of columns, ``links`` a (title, URL) per column, ``hidden`` columns are
    there for links only."""
    panel = (
        table.Panel()
        .title(title)
        .description(description)
        .datasource(source.REFERENCE)
        .with_target(source.table(query))
        .span(width)
        .height(height)
        .show_header(True)
    )
    for column, unit in (units or {}).items():
        panel.override_by_name(column, [models.DynamicConfigValue("unit", unit)])
    for column, (text, url) in (links or {}).items():
        link = {"title": text, "url": url, "targetBlank": url.startswith("/public")}
        panel.override_by_name(column, [models.DynamicConfigValue("links", [link])])
    for column in hidden:
        panel.override_by_name(column, [models.DynamicConfigValue("custom.hidden", True)])
    words = {"pass": "green", "fail": "red", "untrusted": "orange", "error": "red"}
    shown = {
        word: models.ValueMappingResult(color=color, index=i) for i, (word, color) in enumerate(words.items())
    }
    for column in ("verdict", "status"):
        panel.override_by_name(
            column,
            [
                models.DynamicConfigValue("mappings", [models.ValueMap(options=shown)]),
                # Grafana 9.3 reads the first, later ones the second.
                models.DynamicConfigValue("custom.displayMode", "color-text"),
                models.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
            ],
        )
    return panel


def _stat(title: str, description: str, query: str, width: int, calculation: str) -> stat.Panel:
    return (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(source.REFERENCE)
        .targets(source.targets((query, "")))
        .span(width)
        .height(4)
        .graph_mode(common.BigValueGraphMode.NONE)
        .text_mode(common.BigValueTextMode.VALUE)
        .reduce_options(common_builders.ReduceDataOptions().calcs([calculation]).values(False))
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
