"""Renders a series as its one InfluxQL SELECT, for a judged run and for a dashboard alike.

Strings and identifiers are quoted as the InfluxQL specification says (docs.influxdata.com, InfluxDB 1.x,
"InfluxQL reference"): identifiers in double quotes, strings in single quotes, backslash escapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from testbed.series.catalogue import Series

TIME_FILTER = "$timeFilter"
"""What Grafana replaces by the dashboard's span of time."""


def identifier(name: str) -> str:
    """``name`` as a quoted identifier."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def string(text: str) -> str:
    """``text`` as a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def tag_is(tag: str, value: str) -> str:
    """The condition that ``tag`` has this value."""
    return f"{identifier(tag)} = {string(value)}"


def tag_matches_variable(tag: str, variable: str) -> str:
    """The condition that ``tag`` has one of the values chosen for a dashboard's variable."""
    return f"{identifier(tag)} =~ /^${{{variable}:regex}}$/"


def select(
    series: Series, conditions: Iterable[str], *, expression: str | None = None, group_by: str = ""
) -> str:
    """The SELECT of ``series`` under further ``conditions``.

    ``expression`` replaces the plain field (``mean("window_share")``), ``group_by`` adds to the series' own
    grouping (``time($__interval)``); both are for dashboards, judges read the samples as they are.
    """
    fixed = [tag_is(tag, value) for tag, value in series.tags]
    where = " AND ".join([*fixed, *conditions])
    groups = ", ".join([identifier(series.group_by), *([group_by] if group_by else [])])
    text = f"SELECT {expression or identifier(series.field)} FROM {identifier(series.measurement)}"
    return text + (f" WHERE {where}" if where else "") + f" GROUP BY {groups}"


def select_run(series: Series, run: str, where: Mapping[str, str] | None = None) -> str:
    """The SELECT of one run's samples, further restricted to the tag values in ``where``."""
    return select(series, [tag_is("run", run), *(tag_is(tag, value) for tag, value in (where or {}).items())])


def select_dashboard(series: Series, variables: Iterable[str] = ("run",)) -> str:
    """The SELECT of a panel: Grafana's time filter, and a dashboard variable per tag of that name."""
    return select(series, [*(tag_matches_variable(tag, tag) for tag in variables), TIME_FILTER])
