"""The variables at the top of a dashboard."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.builders.dashboard import QueryVariable
from grafana_foundation_sdk.models.dashboard import VariableHide, VariableRefresh, VariableSort

from dashboards import source
from testbed.series import Series, Table, influxql


def chosen(
    tag: str,
    of: Series | Table,
    *,
    within: Sequence[str] = (),
    several: bool = True,
    newest_first: bool = False,
) -> QueryVariable:
    """The values of a tag among those that the variables ``within`` leave; the variable has the tag's name.

    With ``several`` one or more can be chosen, and are all at first, except for runs (``newest_first``).
    """
    query = influxql.tag_values(of, tag, within)
    sort = VariableSort.ALPHABETICAL_DESC if newest_first else VariableSort.NUMERICAL_ASC
    variable = (
        QueryVariable(tag)
        .label(tag)
        .datasource(source.REFERENCE)
        .query(query)
        # Also when the span of time changes, so that a run which has just begun can be chosen.
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(sort)
        .multi(several)
    )
    if several and not newest_first:
        # Everything, points without the tag as well: a long list of names would not fit into a query.
        variable.include_all(True).all_value(".*")
    return variable


SCENARIO_OF_RUN = "scenario_of_run"


def scenario_of_run(of: Series | Table) -> QueryVariable:
    """The scenario of the run that is chosen, for links: ``scenario`` itself may stand for all of them."""
    return (
        QueryVariable(SCENARIO_OF_RUN)
        .label("scenario of the run")
        .hide(VariableHide.HIDE_VARIABLE)
        .datasource(source.REFERENCE)
        .query(influxql.tag_values(of, "scenario", ["run"]))
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(False)
    )
