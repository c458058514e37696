"""The variables at the top of a dashboard."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.builders.dashboard import QueryVariable
from grafana_foundation_sdk.models.dashboard import VariableHide, VariableOption, VariableRefresh, VariableSort

from dashboards import source
from testbed.series import Series, Table, influxql
from testbed.series.one_clock import ZERO
from testbed.series.run_list import LATEST, MEASUREMENT

SHOWN = "shown"
"""The run that a dashboard shows: the one that was chosen, or the latest that there is."""

RUN = f"run={SHOWN}"
"""The variable as :mod:`testbed.series.influxql` names it."""

LENGTH, AGO, REPORT = "length", "ago", "report"

BEFORE_S, AFTER_S = 3, 2
"""Time that a plot shows before the transfer's start and after its end."""

_RUNS = influxql.identifier(MEASUREMENT)


def chosen(tag: str, of: Series | Table, *, within: Sequence[str] = (), several: bool = True) -> QueryVariable:
    """The values of a tag among those that the variables ``within`` leave; the variable has the tag's name.

    With ``several`` one or more can be chosen, and are all at first.
    """
    variable = _query(tag, influxql.tag_values(of, tag, within)).sort(VariableSort.NUMERICAL_ASC).multi(several)
    if several:
        # Everything, points without the tag as well: a long list of names would not fit into a query.
        variable.include_all(True).all_value(".*")
    return variable


def scenario() -> QueryVariable:
    """The scenarios that there are runs of; all at first."""
    query = f'SHOW TAG VALUES FROM {_RUNS} WITH KEY = "scenario"'
    return _query("scenario", query).sort(VariableSort.ALPHABETICAL_ASC).multi(True).include_all(True).all_value(".*")


def run(*, several: bool = False) -> QueryVariable:
    """The runs, newest first by their time. The first choice is the latest run, whichever that is by now: a page that
    is open goes over to a new run unless one was chosen."""
    of_scenario = influxql.tag_matches_variable("scenario", "scenario")
    # Of all scenarios is also the entry that stands for the latest run: no choice where several are named.
    latest = f" AND {influxql.identifier('scenario')} != ''" if several else f" OR {influxql.tag_is('run', LATEST)}"
    query = f'SELECT "run_id" FROM {_RUNS} WHERE {of_scenario}{latest} ORDER BY time DESC LIMIT 1000'
    variable = _query("run", query).sort(VariableSort.DISABLED).multi(several)
    return variable if several else variable.current(VariableOption(True, LATEST, LATEST))


def of_one_run(board: str) -> list[QueryVariable]:
    """Scenario and run, and hidden what follows of them: the run's name, its length and how long ago the common clock
    showed its end, which panels take their span from."""
    found = (
        f'SELECT "run_id" FROM {_RUNS} WHERE "choices" =~ / ${{run:regex}}(:{board})? / '
        f"AND {influxql.tag_matches_variable('scenario', 'scenario')} ORDER BY time DESC LIMIT 1"
    )
    return [scenario(), run(), _hidden(SHOWN, found), *span(f"run={SHOWN}"), _hidden(REPORT, _field('"report"'))]


def span(of: str) -> list[QueryVariable]:
    """Hidden: the seconds that a plot of the runs shows, and how many ago the common clock showed their end.

    A span that was chosen by hand (by drawing over a plot) is on that clock already: then there is nothing to shift,
    and no number of so few digits is taken.
    """
    length = f'SELECT max("length_s") + {BEFORE_S + AFTER_S} FROM {_RUNS} WHERE {_is(of)}'
    end_ms = int(ZERO.timestamp() + AFTER_S) * 1000
    ago = f'SELECT (${{__to}} - {end_ms} - max("length_s") * 1000) / 1000 FROM {_RUNS} WHERE {_is(of)}'
    return [_hidden(LENGTH, length, r"/^(\d+)/"), _hidden(AGO, ago, r"/^(\d{8,})/")]


def _field(expression: str) -> str:
    return f"SELECT {expression} FROM {_RUNS} WHERE {_is(RUN)}"


def _is(variable: str) -> str:
    tag, _, name = variable.partition("=")
    return influxql.tag_matches_variable(tag, name or tag)


def _query(name: str, query: str) -> QueryVariable:
    return (
        QueryVariable(name)
        .label(name)
        .datasource(source.REFERENCE)
        .query(query)
        # Also at every refresh, so that a run which has just begun is there.
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    )


def _hidden(name: str, query: str, regex: str = "") -> QueryVariable:
    variable = _query(name, query).hide(VariableHide.HIDE_VARIABLE).sort(VariableSort.DISABLED).multi(False)
    return variable.regex(regex) if regex else variable
