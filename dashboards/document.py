"""A dashboard as Grafana's JSON."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from dashboards import panels, source
from dashboards.panels import Panel
from dashboards.source import AGO, LENGTH, OTHER, REPORT, RUN, SHOWN, Variable
from testbed.series import Table, influxql
from testbed.series.tables import EVENTS, MEASUREMENT, RUNS

MENUS = {"ncp-run": "One run", "ncp-runs": "All runs"}
"""Titles of the menus by the tag of their dashboards: those of a run, and those of many over weeks."""

REPORTS = "/public/results/"
"""Path of reports at Grafana, beside its own files (docker-compose.yml mounts the results)."""

OPEN_RUN = "/d/ncp-${__data.fields.board}?var-scenario=%24__all&var-run=${__data.fields.run}&from=now-15m&to=now"
"""The dashboard of the run that a row names, at that run. Its panels know its span themselves."""

_COMPARE = "/d/ncp-compare?var-scenario=%24__all&var-run="
_Links = Sequence[tuple[str, str]]
_MARK = Table(MEASUREMENT, ("run_id AS run", "run_id AS mark"))
_PICK = (
    ("Compare: as the first run", f"{_COMPARE}${{__data.fields.run}}&var-with=${{with}}"),
    ("Compare: as the second run", f"{_COMPARE}${{{SHOWN}}}&var-with=${{__data.fields.run}}"),
)

_TO_REPORT = (
    "Report, in ${__data.fields.folder} (opens if that is below the results of the checkout that started Grafana)",
    REPORTS + "${__data.fields.report}",
)


def _list(title: str, description: str, query: str, height: int, links: _Links = (), marked: str = "") -> Panel:
    return panels.rows(
        title,
        description,
        query,
        height=height,
        links={"run": links, "state": (_TO_REPORT,)},
        hidden=("board", "report", "folder"),
        titles={"Time": "begun"},
        widths={"Time": 170, "run": 190, "scenario": 150, "policy": 110, "engine": 90, "variant": 80, "state": 120}
        | {"occasion": 90},
        nothing="No points yet. If none come: ./run.sh run startup makes a run.",
        marked=marked,
    )


def _runs(names: Collection[str]) -> list[Panel]:
    """The list of runs on a dashboard with these variables, and the run that it shows, or both, each a row as in it."""
    shown = [name for name in (SHOWN, OTHER) if name in names]
    recent = _list(
        "Recent runs",
        "The latest run first, of any engine, from the moment it begins; ▶ marks what this page shows. Click on a run "
        "to see it, on its state for its report. Runs of the last 90 days are kept.",
        influxql.select_table(RUNS, (), newest=200),
        6,
        _PICK if OTHER in shown else (("Show this run", OPEN_RUN),),
        influxql.select_table(_MARK, (f"run={'|'.join(shown)}",)) if shown else "",
    )
    titles = ("First run: solid lines", "Second run: dashed lines") if OTHER in shown else ("Run",)
    named = zip(titles, (influxql.select_table(RUNS, (f"run={name}",), newest=1) for name in shown), strict=False)
    return [recent, *(_list(title, "What this page shows.", query, 3) for title, query in named)]


def uid_of(name: str) -> str:
    """A dashboard's UID, the same wherever it is provisioned."""
    return f"ncp-{name}"


def dashboard(
    name: str, title: str, description: str, variables: Sequence[Variable], *own_panels: Panel, over_weeks: bool = False
) -> dict[str, Any]:
    """A dashboard with its variables, linked with the others of the testbed, which then show the same run.

    The recent runs are above its own panels, and the run that it shows. One of a run has a link to its report and its
    events in all plots. The span of a page is kept among dashboards of a run, whose clock it is on, and among others.
    """
    names = {variable["name"] for variable in variables}
    of_a_run = REPORT in names
    own_tag = "ncp-run" if of_a_run else "ncp-runs"
    return {
        "uid": uid_of(name),
        "title": title,
        "description": description,
        "tags": [own_tag],
        "editable": True,
        "fiscalYearStartMonth": 0,
        "graphTooltip": 1,  # one cross for all plots
        "schemaVersion": 36,
        "style": "dark",
        "time": {"from": "now-30d" if over_weeks else "now-15m", "to": "now"},
        "timezone": "utc",
        "refresh": "1m" if over_weeks else "5s",
        "links": [
            *(
                _link(title, "dashboards", asDropdown=True, includeVars=True, keepTime=tag == own_tag, tags=[tag])
                for tag, title in MENUS.items()
            ),
            *([_REPORT_LINK] if of_a_run else []),
        ],
        "annotations": {"list": [_TIMELINE] if of_a_run else []},
        "templating": {"list": [*variables, *([] if of_a_run else [source.carried()])]},
        "panels": _placed([*_runs(names), *own_panels], as_long_as_the_run=LENGTH in names),
    }


def _link(title: str, kind: str, **options: Any) -> dict[str, Any]:
    flags = dict.fromkeys(("asDropdown", "includeVars", "keepTime", "targetBlank"), False)
    return {"title": title, "type": kind, **flags, "icon": "", "tags": [], "tooltip": "", "url": "", **options}


_EVENTS = {"query": influxql.select_table(EVENTS, (RUN,)), "textColumn": "text", "tagsColumn": "kind"}
_TIMELINE = {
    "name": "Timeline",
    "datasource": source.REFERENCE,
    "enable": True,
    "hide": False,
    "iconColor": "purple",
    **_EVENTS,  # which Grafana 9.3 takes from here, later ones from the target
    "target": {"refId": "Anno", "fromAnnotations": True, "resultFormat": "table", "rawQuery": True, **_EVENTS},
}
"""A run's events, drawn into all plots."""

_REPORT_LINK = _link(
    "Report of the run",
    "link",
    icon="doc",
    tooltip="There when the run is judged, if its results are those of the checkout that started Grafana.",
    url=f"{REPORTS}${{{REPORT}}}",
    targetBlank=True,
)


def _placed(all_panels: Sequence[Panel], *, as_long_as_the_run: bool) -> list[Panel]:
    """The panels in their places, line by line, numbered in their order so that alerts and links can point to them.

    With ``as_long_as_the_run`` every plot shows all of its runs, whatever span of time the page has. Grafana takes a
    panel's own span from two keys; by the common clock they are durations that the variables know.
    """
    span = {"timeFrom": f"${{{LENGTH}}}s", "timeShift": f"${{{AGO}}}s", "hideTimeOverride": True}
    placed, x, y, height = [], 0, 0, 0
    for number, panel in enumerate(all_panels, start=1):
        size = panel["gridPos"]
        if x + size["w"] > panels.FULL:
            x, y, height = 0, y + height, 0
        own_span = span if as_long_as_the_run and panel["type"] == "timeseries" else {}
        placed.append({**panel, **own_span, "id": number, "gridPos": {**size, "x": x, "y": y}})
        x, height = x + size["w"], max(height, size["h"])
    return placed


def to_text(document: dict[str, Any]) -> str:
    """The JSON as it is in a file."""
    return json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
