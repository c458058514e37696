"""A dashboard as Grafana's JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from grafana_foundation_sdk.builders.dashboard import Dashboard, DashboardLink, QueryVariable
from grafana_foundation_sdk.cog import builder as cogbuilder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from dashboards import source
from dashboards.variables import AGO, LENGTH, REPORT
from testbed.series import Table, influxql

TAG = "ncp-testbed"

REPORTS = "/public/results/"
"""Path of reports at Grafana, beside its own files (docker-compose.yml mounts the results)."""


def uid_of(name: str) -> str:
    """A dashboard's UID, the same wherever it is provisioned."""
    return f"ncp-{name}"


def dashboard(
    name: str,
    title: str,
    description: str,
    variables: Sequence[QueryVariable],
    *,
    time: tuple[str, str] = ("now-15m", "now"),
    refresh: str = "5s",
    timezone: str = "utc",
) -> Dashboard:
    """A dashboard with its variables, linked with the others of the testbed, which then show the same run."""
    board = (
        Dashboard(title)
        .uid(uid_of(name))
        .description(description)
        .tags([TAG])
        .time(*time)
        .refresh(refresh)
        .timezone(timezone)
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(
            DashboardLink("Testbed")
            .type(models.DashboardLinkType.DASHBOARDS)
            .tags([TAG])
            .as_dropdown(True)
            .include_vars(True)
            .keep_time(True)
        )
    )
    for variable in variables:
        board.with_variable(variable)
    return board


def add_report_link(board: Dashboard) -> None:
    """A link to the report of the run that is shown, for dashboards of one run."""
    board.link(
        DashboardLink("Report of the run")
        .type(models.DashboardLinkType.LINK)
        .icon("doc")
        .tooltip("There when the run is judged, if its results are those of the checkout that started Grafana.")
        .url(f"{REPORTS}${{{REPORT}}}")
        .target_blank(True)
    )


def as_long_as_the_run(document: dict[str, Any]) -> None:
    """Have every plot of the document show all of its runs, whatever span of time the page has.

    Grafana takes a panel's own span from these two; by the common clock they are durations that the variables know.
    """
    for panel in document["panels"]:
        if panel["type"] == "timeseries":
            panel |= {"timeFrom": f"${{{LENGTH}}}s", "timeShift": f"${{{AGO}}}s", "hideTimeOverride": True}


def annotation(name: str, table: Table, variables: Sequence[str], color: str) -> dict[str, Any]:
    """Events drawn into all plots: the table's columns ``text`` and ``kind``.

    Grafana 9.3 takes the query from the annotation itself, later ones from its target.
    """
    query = {"query": influxql.select_table(table, variables), "textColumn": "text", "tagsColumn": "kind"}
    return {
        "name": name,
        "datasource": source.REFERENCE.to_json(),
        "enable": True,
        "hide": False,
        "iconColor": color,
        **query,
        "target": {"refId": "Anno", "fromAnnotations": True, "resultFormat": "table", "rawQuery": True, **query},
    }


def to_json(board: cogbuilder.Builder[models.Dashboard], annotations: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Grafana's JSON. Panels are numbered in their order, so that alerts and links can point to them."""
    document: dict[str, Any] = json.loads(json.dumps(board.build(), cls=JSONEncoder))
    for number, panel in enumerate(document["panels"], start=1):
        panel["id"] = number
    for variable in document["templating"]["list"]:
        for key in ("id", "auto", "auto_min", "auto_count"):  # of interval variables only
            variable.pop(key, None)
        variable["skipUrlSync"] = variable.get("hide") == 2
    document["annotations"] = {"list": list(annotations)}
    return document


def to_text(document: dict[str, Any]) -> str:
    """The JSON as it is in a file."""
    return json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
