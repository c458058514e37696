"""The data source, queries to it, and the variables at the top of a dashboard, as Grafana's JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from testbed.series import Series, Table, influxql, named
from testbed.series.one_clock import ZERO, on_one_clock
from testbed.series.tables import LATEST, MEASUREMENT, RUNS

TYPE, UID = "influxdb", "ncp-influxdb"

REFERENCE = {"type": TYPE, "uid": UID}


def target(query: str, ref_id: str = "A", alias: str = "", *, rows: bool = False) -> dict[str, Any]:
    """A query in Grafana's JSON. Keys other than ``query`` make Grafana's editor open in text mode.

    ``alias`` names the series: ``$tag_<tag>`` stands for a tag's value. With ``rows`` points are rows of a table.
    """
    return {
        "datasource": REFERENCE,
        "query": query,
        "rawQuery": True,
        "refId": ref_id,
        "resultFormat": "table" if rows else "time_series",
        **({"alias": alias} if alias else {}),
    }


@dataclass(frozen=True)
class Curve:
    """A query of a plot: the series' names and their unit; ``expected`` is the word before the names of expectations,
    or "low" and "high" for the edges of a band; ``soft_most`` is what the axis shows at the least."""

    query: str
    alias: str
    unit: str
    expected: str = ""
    soft_most: float | None = None


@dataclass(frozen=True)
class Curves:
    """Curves of one kind of thing (connections, links, …), on the common clock.

    ``variables`` restrict them, ``by`` lists the tags that distinguish them besides the series' own.
    """

    variables: tuple[str, ...]
    by: tuple[str, ...] = ()
    alias: str = ""
    function: str = "mean"

    def of(self, *names: str, function: str = "", **expectations: str) -> list[Curve]:
        """The curves of series of the catalogue; ``expectations`` has the word of each that is one, by its name.
        ``function`` is as in ``select_dashboard``."""
        words = {**dict.fromkeys(names, ""), **expectations}
        return [self._one(named(name), expected, function or self.function) for name, expected in words.items()]

    def _one(self, series: Series, expected: str, function: str) -> Curve:
        query = influxql.select_dashboard(on_one_clock(series), self.variables, function=function, by=self.by)
        alias = f"{expected} {self.alias}".strip()
        if function == "rate":  # of something that seldom happens: one in a while is not to fill the plot
            return Curve(query, alias, f"{series.unit}/s", expected, soft_most=10)
        return Curve(query, alias, series.unit, expected)


SHOWN = "shown"
"""The run that a dashboard shows: the one that was chosen, or the latest that there is."""

RUN = f"run={SHOWN}"
"""The variable as :mod:`testbed.series.influxql` names it."""

OTHER = "other"
"""The run that it is compared with: the one that was chosen, or the latest other one of its scenario."""

LENGTH, AGO, REPORT = "length", "ago", "report"

BEFORE_S, AFTER_S = 3, 2
"""Time that a plot shows before the transfer's start and after its end."""

Variable = dict[str, Any]

_RUNS = influxql.identifier(MEASUREMENT)

UNSORTED, ALPHABETICAL, ALPHABETICAL_DOWN, NUMERICAL = range(4)
"""Grafana's orders of a variable's values."""

# Everything, points without the tag as well: a long list of names would not fit into a query.
_ALL: Variable = {"multi": True, "includeAll": True, "allValue": ".*"}


def chosen(
    name: str,
    of: Series | Table,
    *,
    within: Sequence[str] = (),
    several: bool = True,
    newest_first: bool = False,
    first: str = "",
) -> Variable:
    """The values of a tag among those that the variables ``within`` leave; the variable's name is the tag's, or it is
    ``tag=variable``.

    With ``several`` one or more can be chosen, and are all at first; ``first`` is what is chosen at first without.
    ``newest_first`` is for values that begin with their time.
    """
    options: Variable = {**(_ALL if several else {}), **(at_first(first) if first else {})}
    sort = ALPHABETICAL_DOWN if newest_first else NUMERICAL
    tag, _, variable = name.partition("=")
    return _query(variable or tag, influxql.tag_values(of, tag, within), sort=sort, **options)


def first_of(name: str, column: str, of: Table, within: Sequence[str]) -> Variable:
    """Hidden: what the first point has in a column."""
    return _query(name, influxql.select_table(replace(of, columns=(column,)), within, newest=1), hide=2)


def rows_of(table: Table, within: Sequence[str]) -> Variable:
    """The rows of a table, which are in its order by time."""
    return _query("row", influxql.select_table(replace(table, columns=("row", "position")), within), **_ALL)


def at_first(value: str) -> Variable:
    """The value that a variable has when a dashboard is opened."""
    return {"current": {"selected": True, "text": value, "value": value}}


def custom(name: str, values: Sequence[str]) -> Variable:
    """A variable with these values, the first of which is chosen at first."""
    variable = {"type": "custom", "name": name, "label": name, "query": ",".join(values), "hide": 0}
    return {**variable, "skipUrlSync": False, **_ALL, **at_first(values[0])}


def scenario() -> Variable:
    """The scenarios that there are runs of; all at first."""
    return _query("scenario", f'SHOW TAG VALUES FROM {_RUNS} WITH KEY = "scenario"', sort=ALPHABETICAL, **_ALL)


def run(name: str = "run") -> Variable:
    """The runs in words, newest first by their time. The first choice is the latest run, whichever that is by now: a
    page that is open goes over to a new run unless one was chosen."""
    of_scenario = influxql.tag_matches_variable("scenario", "scenario")
    latest = influxql.tag_is("run", LATEST)
    query = f'SELECT "label" FROM {_RUNS} WHERE {of_scenario} OR {latest} ORDER BY time DESC LIMIT 1000'
    return _query(name, query, regex=r"/^(?<text>.+) \| (?<value>\S+)$/", **at_first(LATEST))


def carried() -> Variable:
    """Hidden: the run that is chosen, on a dashboard of many, for the links from there."""
    variable = {"type": "textbox", "name": "run", "label": "run", "query": LATEST, "hide": 2, "skipUrlSync": False}
    return {**variable, **at_first(LATEST)}


def of_one_run(board: str, *, compared: bool = False) -> list[Variable]:
    """Scenario and run, if ``compared`` with another, and hidden what follows of them: the run's name and report, and
    what panels take their span from."""
    report = f'SELECT "report" FROM {_RUNS} WHERE {influxql.tag_matches_variable("run", SHOWN)}'
    of_scenario = influxql.tag_matches_variable("scenario", "scenario")
    found = [scenario(), run(), _found(SHOWN, "run", board, of_scenario), _query(REPORT, report, hide=2)]
    if compared:
        its, chosen_one = influxql.tag_matches_variable("scenario", "its"), influxql.tag_matches_variable("run", "with")
        other = f'({its} OR {chosen_one}) AND "run" !~ /^${{{SHOWN}:regex}}$/'
        its_scenario = _query("its", influxql.tag_values(RUNS, "scenario", (RUN,)), hide=2)
        found += [run("with"), its_scenario, _found(OTHER, "with", board, other)]
    return [*found, *span(f"{SHOWN}|{OTHER}" if compared else SHOWN)]


def _found(name: str, choice: str, board: str, condition: str) -> Variable:
    of_choice = f'"choices" =~ / ${{{choice}:regex}}(:{board})? /'
    query = f'SELECT "run_id" FROM {_RUNS} WHERE {of_choice} AND {condition} ORDER BY time DESC LIMIT 1'
    return _query(name, query, hide=2)


def span(runs: str) -> list[Variable]:
    """Hidden: the seconds that a plot of the variable's runs shows, and how many ago the common clock showed their end.

    A span that was chosen by hand (by drawing over a plot) is on that clock already: then there is nothing to shift,
    and no number of so few digits is taken.
    """
    of_runs = f"FROM {_RUNS} WHERE {influxql.tag_matches_variable('run', runs)}"
    length = f'SELECT max("length_s") + {BEFORE_S + AFTER_S} {of_runs}'
    end_ms = int(ZERO.timestamp() + AFTER_S) * 1000
    ago = f'SELECT (${{__to}} - {end_ms} - max("length_s") * 1000) / 1000 {of_runs}'
    return [_query(LENGTH, length, hide=2, regex=r"/^(\d+)/"), _query(AGO, ago, hide=2, regex=r"/^(\d{8,})/")]


def _query(name: str, query: str, *, hide: int = 0, sort: int = UNSORTED, **options: Any) -> Variable:
    return {
        "type": "query",
        "name": name,
        "label": name,
        "datasource": REFERENCE,
        "query": query,
        "refresh": 2,  # Also at every refresh, so that a run which has just begun is there.
        "hide": hide,
        "skipUrlSync": hide == 2,
        "sort": sort,
        "multi": False,
        "includeAll": False,
        **options,
    }
