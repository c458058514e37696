"""Writes ``plots/*.svg`` and ``report.html`` into a result folder."""

from pathlib import Path
from typing import Any

from testbed.interchange.graph import FORMATS, draw
from testbed.judge.figures import with_unit
from testbed.plan.engines import engine_of
from testbed.plan.traffic_types import traffic_of
from testbed.results.report import download, words
from testbed.results.report.folder import ResultFolder
from testbed.results.report.page_templates import on_page, page_templates, write_html
from testbed.results.report.plot import Plot
from testbed.results.report.plots import all_plots, deciding
from testbed.results.report.tables import link_rows, machine_rows, share_tables
from testbed.series import FromFile
from testbed.series.reader import start_of
from testbed.series.tables import dashboards_of
from testbed.services import grafana

DASHBOARDS = {"ndn": "NDN", "tcp": "TCP"}
"""Labels of dashboards, where they are not their own names."""
COLUMN_PX = 560
"""Room for a drawing beside the words of the set-up, on a page 1280 pixels wide."""


def write_report(result_dir: Path, reader: FromFile | None = None) -> Path:
    """Plots and page from the folder's own files; returns the page's path. ``reader``: of its telemetry, where that was
    read already.

    The same folder gives the same bytes. Raises BadInput where a file is missing or broken.
    """
    folder = ResultFolder(result_dir, reader)
    plots = ([download.time_sequence_plot(folder)] if download.is_download(folder) else []) + all_plots(folder)
    first = deciding(folder, plots)
    environment = page_templates()
    environment.filters.update(signed=_signed)
    plan = folder.plan
    drawing, told = draw(plan), "The topology: who sends to whom, and over which links."
    topology = Plot("topology", told, FORMATS["svg"](drawing), wide=drawing.width > COLUMN_PX)
    own_figures = {} if traffic_of(plan).windows else folder.verdict.figures  # NCP's goodput is as the agents report it
    return write_html(
        result_dir,
        environment,
        "report.html.j2",
        plots,
        pictures=[topology],
        topology=on_page(topology),
        first=first.name if first else "",
        plan=plan,
        verdict=folder.verdict,
        asked_links=words.the_links(plan),
        asked_sessions=[words.the_session(plan, session) for session in plan["sessions"]],
        check_words={check.name: check.in_words() for check in folder.checks},
        sure=words.how_sure(folder.verdict, folder.provenance),
        share_tables=share_tables(folder),
        fact_tables=[download.theory_table(folder)] if download.is_download(folder) else [],
        figures=[(with_unit(name), name, value) for name, value in own_figures.items()],
        links=link_rows(folder),
        machines=machine_rows(folder),
        dashboards=dashboard_links(folder),
        timeline=_timeline(folder),
        agents={host: _table_and_rest(result) for host, result in folder.agents.items()},
        provenance=_table_and_rest(folder.provenance),
    )


def _timeline(folder: ResultFolder) -> list[dict[str, Any]]:
    """Events in time order, in seconds since the first transfer_start (or since the first event without one)."""
    events, in_words = folder.evidence.events if folder.evidence else [], words.of_events(folder.plan)
    zero = min((e.t_ns for e in events if e.kind == "transfer_start"), default=events[0].t_ns if events else 0)
    return [
        {
            "at_s": (e.t_ns - zero) / 1e9,
            "kind": e.kind.replace("_", " "),
            "session": e.session,
            "text": in_words.get(e.text, e.text),
        }
        for e in events
    ]


def _table_and_rest(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Plain values for a table; lists and objects for folded blocks."""
    plain = {key: value for key, value in document.items() if not isinstance(value, (dict, list))}
    return {"plain": plain, "rest": {key: value for key, value in document.items() if key not in plain}}


def _signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}".replace("-", "−")  # + 0.0: no negative zero


def dashboard_links(folder: ResultFolder) -> list[tuple[str, str]]:
    """Name and URL of each that has something to show of the run; none where nothing was ever sent, or in virtual time
    (whose points are in a database only if one was up)."""
    events = [] if folder.evidence is None else folder.evidence.events
    if start_of(events) is None or engine_of(folder.plan).virtual_time:
        return []
    boards = dashboards_of(folder.plan)
    return [(DASHBOARDS.get(board, board), grafana.run_url(board, folder.plan["run"])) for board in boards]
