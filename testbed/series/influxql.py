"""Renders a series as its one InfluxQL SELECT, for a judged run and for a dashboard alike.

Strings and identifiers are quoted as the InfluxQL specification says (docs.influxdata.com, InfluxDB 1.x,
"InfluxQL reference"): identifiers in double quotes, strings in single quotes, backslash escapes.
"""

from collections.abc import Iterable, Mapping

from testbed.series.series import Series, Table

TIME_FILTER = "$timeFilter"
"""Placeholder that Grafana replaces by the dashboard's span of time."""

INTERVAL = "$__interval"
"""Placeholder that Grafana replaces by the time of one point of a panel."""


def identifier(name: str) -> str:
    """``name`` as a quoted identifier."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def string(text: str) -> str:
    """``text`` as a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def source(series: Series | Table) -> str:
    """The text after FROM: the measurement, by its full name where it is not in the default retention policy."""
    measurement = identifier(series.measurement)
    return f"{identifier(series.retention)}.{measurement}" if series.retention else measurement


def tag_is(tag: str, value: str) -> str:
    """The condition that ``tag`` has this value."""
    return f"{identifier(tag)} = {string(value)}"


def tag_is_one_of(tag: str, values: Iterable[str]) -> str:
    """The condition that ``tag`` has one of these values."""
    return "(" + " OR ".join(tag_is(tag, value) for value in values) + ")"


def tag_matches_variable(tag: str, variable: str) -> str:
    """The condition that ``tag`` has one of the values chosen for a dashboard's variable, or of two, ``a|b``."""
    values = "|".join(f"${{{each}:regex}}" for each in variable.split("|"))
    return f"{identifier(tag)} =~ /^({values})$/"


def select(
    series: Series, conditions: Iterable[str], *, expression: str | None = None, by: Iterable[str] = (), every: str = ""
) -> str:
    """The SELECT of ``series`` under further ``conditions``.

    ``expression`` replaces the plain field (``mean("window_share")``); the result is grouped by the series'
    own tag, the tags in ``by`` and spans of time as long as ``every`` ("" for none). These are for dashboards,
    judges read the samples as they are.
    """
    fixed = [tag_is(tag, value) for tag, value in series.tags]
    where = " AND ".join([*fixed, *conditions])
    groups = [identifier(tag) for tag in dict.fromkeys([series.group_by, *by])]
    spans = [f"time({every}) fill(none)"] if every else []
    text = f"SELECT {expression or identifier(series.field)} FROM {source(series)}"
    return text + (f" WHERE {where}" if where else "") + f" GROUP BY {', '.join([*groups, *spans])}"


def select_run(series: Series, run: str, where: Mapping[str, str] | None = None) -> str:
    """The SELECT of one run's samples, further restricted to the tag values in ``where``."""
    return select(series, [tag_is("run", run), *(tag_is(tag, value) for tag, value in (where or {}).items())])


def select_dashboard(
    series: Series,
    variables: Iterable[str] = (),
    *,
    function: str = "mean",
    by: Iterable[str] = (),
    conditions: Iterable[str] = (),
    every: str = INTERVAL,
) -> str:
    """The SELECT of a panel: one value per interval, restricted by Grafana's time filter and dashboard variables; with
    ``every`` "" one value of all that time.

    A variable is named as its tag, or ``tag=variable``. ``function`` makes one value of an interval's samples;
    ``rate`` is the growth per second of a count; with ``{}`` in it, it is an expression of the field.
    """
    field = identifier(series.field)
    if function == "rate":
        expression = f"non_negative_derivative(max({field}), 1s)"
    elif "{}" in function:
        expression = function.replace("{}", field)
    else:
        expression = f"{function}({field})"
    where = [*_chosen(variables), *conditions, TIME_FILTER]
    return select(series, where, expression=expression, by=by, every=every)


def select_of_run(series: Series, variables: Iterable[str], *, function: str = "last", by: Iterable[str] = ()) -> str:
    """The SELECT of one value of each group over all of a run, whatever span of time a page shows."""
    expression = f"{function}({identifier(series.field)})"
    return select(series, _chosen(variables), expression=expression, by=by)


def select_table(table: Table, variables: Iterable[str] = (), *, newest: int = 0, in_span: bool = False) -> str:
    """The SELECT of a table's columns, in Grafana's span of time or of all times; ``newest`` > 0 for no more than so
    many, newest first. A column may be ``field AS name``."""
    fixed = [tag_is(tag, value) for tag, value in table.tags]
    present = [f"{identifier(tag)} != ''" for tag in table.with_tags]
    where = " AND ".join([*fixed, *present, *_chosen(variables), *([TIME_FILTER] if in_span else [])])
    columns = ", ".join(" AS ".join(map(identifier, column.split(" AS "))) for column in table.columns)
    order = f" ORDER BY time DESC LIMIT {newest}" if newest else ""
    return f"SELECT {columns} FROM {source(table)}" + (f" WHERE {where}" if where else "") + order


def tag_values(measurement: Series | Table, tag: str, variables: Iterable[str] = ()) -> str:
    """The statement that lists the values of ``tag``, for a dashboard's variable.

    Not restricted in time: a run can be chosen before its span is.
    """
    where = " AND ".join(_chosen(variables))
    text = f"SHOW TAG VALUES FROM {source(measurement)} WITH KEY = {identifier(tag)}"
    return text + (f" WHERE {where}" if where else "")


def _chosen(variables: Iterable[str]) -> list[str]:
    pairs = (variable.partition("=") for variable in variables)
    return [tag_matches_variable(tag, name or tag) for tag, _, name in pairs]
