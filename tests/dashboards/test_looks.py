"""What a page looks like: names, marks, colours and bands, by its queries on real runs and by Grafana's rules."""

import json
import re
from typing import Any

import pytest

from dashboards import panels
from testbed import engines
from testbed.engines.engine import Options
from testbed.judge.checks.derived import law_ahead
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load
from testbed.series.one_clock import RETENTION, ZERO_NS, shifted
from testbed.services.influx import run_list
from testbed.study.report.points import table_lines
from tests.dashboards.conftest import RUNS, recorded, replay
from tests.dashboards.grafana import Span, interpolate, opened, series_name, span_of_panel, values_of
from tests.dashboards.test_opened import BOARDS, DAY_MS, HOUR_MS, empty, own
from tests.golden.plans import programs

__all__ = ["empty", "own"]


def panel_of(name: str, title: str) -> Any:
    (found,) = (panel for panel in BOARDS[name]["panels"] if panel["title"] == title)
    return found


def colour(panel: Any, series: str) -> str | None:
    """The colour that a panel gives a series: of its overrides the last that matches."""
    found = None
    for override in panel["fieldConfig"]["overrides"]:
        options = override["matcher"]["options"]
        named = override["matcher"]["id"] == "byName"
        if series == options if named else re.search(options.strip("/"), series):
            for each in override["properties"]:
                found = each["value"]["fixedColor"] if each["id"] == "color" else found
    return found


@pytest.mark.parametrize("name", ["convergence", "links", "tcp", "ndn", "compare"])
def test_a_page_names_the_run_it_shows_and_marks_it_in_the_list(influx, runs, name):
    board, now_ms = BOARDS[name], max(run.to_ms for run in runs.values()) + HOUR_MS
    first, second = (runs[each].plan["run"] for each in ("nkp24", "previous"))
    variables = opened(board, influx, now_ms, {"run": first, "with": second})
    shown = [first, second] if name == "compare" else [first]
    recent, *named = board["panels"][: 1 + len(shown)]
    for panel, run in zip(named, shown, strict=True):
        (part,) = influx.query(interpolate(panel["targets"][0]["query"], variables, Span(0, now_ms)))
        facts = {column: values[0] for column, values in part.columns.items()}
        assert len(part.columns["run"]) == 1
        assert facts["run"] == run
        wanted = {"scenario": "startup", "engine": "mininet", "policy": "nkp24" if run == first else "previous"}
        assert wanted.items() <= facts.items()
        assert facts["state"] in panels.STATES
        assert facts["report"].endswith("/report.html")
        assert facts["time"] > 0
    # The list and its marks are joined by the columns that both have, time and run.
    every, marks = (
        influx.query(interpolate(target["query"], variables, Span(0, now_ms)))[0].columns
        for target in recent["targets"]
    )
    assert {"time", "run"} == set(every) & set(marks)
    joined = {(time, run) for time, run in zip(every["time"], every["run"], strict=True)}
    assert {run for _, run in joined & set(zip(marks["time"], marks["mark"], strict=True))} == set(shown)
    assert len(joined) >= len(runs)
    assert [step["id"] for step in recent["transformations"]] == ["merge", "organize"]


def test_a_connection_has_one_colour_in_every_plot_of_every_page():
    """By the names that series get."""
    seen = {}
    for name, board in BOARDS.items():
        for panel in board["panels"]:
            for target in panel.get("targets", []) if panel["type"] == "timeseries" else []:
                if "$tag_connection" in target.get("alias", "") and not target["alias"].startswith(
                    ("law", "low", "high")
                ):
                    tags = {"session": "s1", "connection": "2", "policy": "nkp24"}
                    seen[f"{name}: {panel['title']}"] = colour(panel, series_name(target["alias"], tags))
    assert len(seen) == 15
    assert set(seen.values()) == {panels.CONNECTIONS[1]}


@pytest.mark.parametrize("policy", [*panels.POLICIES, *(set(programs().policies) - set(panels.POLICIES))])
def test_a_policy_has_one_colour_wherever_policies_are_drawn(policy):
    tags = {"policy": policy, "engine": "sim", "variant": "quick", "session": "s1", "column": policy}
    tags |= {"scenario": "startup"}
    seen = {}
    for name, board in BOARDS.items():
        for panel in board["panels"]:
            for target in panel.get("targets", []) if panel["type"] in ("timeseries", "bargauge") else []:
                alias = target.get("alias", "")
                if re.search(r"\$tag_(policy|column)", alias) and not re.search(r"\$tag_(figure|connection)", alias):
                    seen[f"{name}: {panel['title']}"] = colour(panel, series_name(alias, tags))
    assert len(seen) == 5, seen
    assert set(seen.values()) == {panels.POLICIES[policy]}
    assert len(set(panels.POLICIES.values())) == len(panels.POLICIES)
    bars = panel_of("speed-table", "Row $row: $in_words")
    assert colour(bars, f"published: {policy}") == panels.POLICIES[policy]
    assert colour(bars, f"{policy}-2") is None


def test_the_second_run_is_dashed_and_the_first_is_not():
    for panel in (p for p in BOARDS["compare"]["panels"] if p["type"] == "timeseries"):
        overrides = panel["fieldConfig"]["overrides"]
        styled = [o["matcher"]["options"] for o in overrides if o["properties"][0]["id"] == "custom.lineStyle"]
        for target in panel["targets"]:
            tags = {"policy": "nkp24", "session": "s1", "connection": "1"}
            series = series_name(target["alias"], tags)
            assert any(re.search(each.strip("/"), series) for each in styled) == series.startswith("2nd ")


def test_all_plots_of_a_page_begin_at_the_same_place():
    for board in BOARDS.values():
        plots = [panel for panel in board["panels"] if panel["type"] == "timeseries"]
        assert {panel["fieldConfig"]["defaults"]["custom"]["axisWidth"] for panel in plots} == {72}


def test_a_broken_run_does_not_look_like_one_that_fails(empty, tmp_path):
    """In the list, and in the history by day, of which a single day is enough for a matrix."""
    assert panels.STATES["error"] != panels.STATES["fail"]
    at_ms = replay(empty, recorded("nkp24"), tmp_path).to_ms
    codes = {"untrusted": (0, 0, 0), "fail": (0, 1, 0), "pass": (1, 1, 0), "broken": (0, 1, 1), "untold": (0, 0, 1)}
    for policy, (passed, trusted, broken) in codes.items():
        tags = f"scenario=startup,policy={policy},engine=sim,variant=full"
        fields = f'passed={passed}i,trusted={trusted}i,broken={broken}i,verdict="x"'
        empty.write([f"run_verdict,{tags} {fields} {at_ms}000000"], "history")
    board, now_ms = BOARDS["fleet"], at_ms + HOUR_MS
    variables = opened(board, empty, now_ms).but(scenario=["startup"])
    panel = panel_of("fleet", "Verdicts of $scenario")
    month = Span(now_ms - 30 * DAY_MS, now_ms)
    answer = empty.query(interpolate(panel["targets"][0]["query"], variables, month))
    (mapping,) = panel["fieldConfig"]["defaults"]["mappings"]
    shown = {}
    for part in answer:
        assert len(part.columns["time"]) in (30, 31)  # a column's width is the time between two
        (values,) = (values for name, values in part.columns.items() if name != "time")
        (code,) = (value for value in values if value is not None)
        shown[part.tags["policy"]] = mapping["options"][str(int(code))]
    looks = {policy: (shown[policy]["text"], shown[policy]["color"]) for policy in codes}
    assert looks["broken"] == looks["untold"] == panels.STATES["error"]
    assert len(set(looks.values())) == 4
    assert looks["pass"] == panels.STATES["pass"]


@pytest.mark.parametrize("number", [1, 50])
def test_the_history_of_scenarios_is_a_row_each_however_many_there_are(empty, number):
    at_ns = 1_795_000_000_000_000_000
    for i in range(number):
        for verdict, passed, at in (("fail", 0, at_ns), ("pass", 1, at_ns + 10**9)):
            tags = f"scenario=s{i:02},policy=nkp24,engine=sim,variant=full"
            fields = f'passed={passed}i,trusted=1i,broken=0i,verdict="{verdict}",duration_s=2'
            empty.write([f"run_verdict,{tags} {fields} {at}"], "history")
    board, now_ms = BOARDS["fleet"], at_ns // 1_000_000 + HOUR_MS
    panel = panel_of("fleet", "Scenarios")
    assert panel["type"] == "table"  # its rows have a height of their own
    variables = opened(board, empty, now_ms)
    answer = empty.query(interpolate(panel["targets"][0]["query"], variables, Span(now_ms - DAY_MS, now_ms)))
    rows = [
        (part.tags["scenario"], *(part.columns[name][0] for name in ("verdict", "runs", "passed"))) for part in answer
    ]
    assert rows == [(f"s{i:02}", "pass", 2, 1) for i in range(number)]


def test_a_speed_table_says_its_unit_has_whole_headers_and_one_order(influx, runs):
    board, now_ms = BOARDS["speed-table"], max(run.to_ms for run in runs.values()) + HOUR_MS
    variables = opened(board, influx, now_ms)
    assert {
        variables.replace(panel["title"])
        for panel in board["panels"]
        if panel["type"] in ("timeseries", "bargauge", "table") and panel["title"] != "Recent runs"
    } == {
        "Goodput, MiB/s: medians of speed-table, table 20261121-105150-52a4",
        "Goodput, MiB/s: cells",
        "Row .*: Goodput, MiB/s",
        "Row .*, table by table: Goodput, MiB/s",
    }
    medians, cells = (p for p in board["panels"] if p["title"].startswith("$in_words"))
    (part,) = influx.query(interpolate(medians["targets"][0]["query"], variables, Span(0, now_ms)))
    cells_in_order = list(zip(part.columns["position"], part.columns["column"], strict=True))
    for step in medians["transformations"][:-1]:
        (by,) = (each["field"] for each in step["options"]["sort"])
        cells_in_order.sort(key=lambda cell: cell[("position", "column").index(by)])
    columns = list(dict.fromkeys(column for _, column in cells_in_order))
    bars = panel_of("speed-table", "Row $row: $in_words")
    query = interpolate(bars["targets"][0]["query"], variables.but(row=["1"]), Span(0, now_ms))
    names = [part.tags["column"] for part in influx.query(query)]
    assert names == [column for column in columns if column in names]
    assert len(names) > 3
    for column in columns:
        assert width_px(medians, column) >= needed_px(column), column
    assert width_px(cells, "column") >= max(map(needed_px, columns))


def test_the_rows_of_a_speed_table_repeat_in_its_order_and_the_unit_is_in_a_header(empty):
    document = json.loads((RUNS / "speed-table.json").read_text())
    names = ["near", "10", "far", "9"]
    rows = [{**document["rows"][0], "name": name} for name in names]
    at_ns = 1_795_000_000_000_000_000
    empty.write(table_lines({**document, "rows": rows}, "full", at_ns))
    board = BOARDS["speed-table"]
    variables = opened(board, empty, at_ns // 1_000_000 + HOUR_MS)
    (row,) = (variable for variable in board["templating"]["list"] if variable["name"] == "row")
    assert values_of(row, variables, empty) == names
    medians, cells = (p for p in board["panels"] if p["title"].startswith("$in_words"))
    for panel, column in ((medians, "row\\column"), (cells, "median")):
        titles = {
            o["matcher"]["options"]: p["value"]
            for o in panel["fieldConfig"]["overrides"]
            for p in o["properties"]
            if p["id"] == "displayName"
        }
        assert variables.replace(titles[column]) == "Goodput, MiB/s"


def needed_px(header: str) -> int:
    """Of a header in Inter at 14 px, with the cell's margins."""
    return 7 * len(header) + 16


def width_px(panel: Any, column: str) -> int:
    """A column has 150 px at the least where nothing else is said."""
    found = 150
    for override in panel["fieldConfig"]["overrides"]:
        options = override["matcher"]["options"]
        if options == column or (options.startswith("/") and re.search(options.strip("/"), column)):
            found = next((p["value"] for p in override["properties"] if p["id"] == "custom.width"), found)
    return found


def test_headers_are_whole_where_a_column_has_a_width():
    for board in BOARDS.values():
        for panel in (p for p in board["panels"] if p["type"] == "table"):
            properties = [
                (o["matcher"]["options"], {p["id"]: p["value"] for p in o["properties"]})
                for o in panel["fieldConfig"]["overrides"]
            ]
            titles = {name: each["displayName"] for name, each in properties if "displayName" in each}
            for name, each in properties:
                if "custom.width" in each and not name.startswith("/"):
                    assert each["custom.width"] >= needed_px(titles.get(name, name)), (panel["title"], name)


@pytest.mark.parametrize(("scenario", "ends_s"), [("link-break", 6.0), ("startup", 20.0)])
def test_no_curve_leaves_its_band_under_a_pass(empty, tmp_path, scenario, ends_s):
    """As the panel draws it, whole and zoomed in; where the law ends there is a mark that says why."""
    run = engines.named("sim").ready_run(load(scenario), Options(), QuietProgress(), tmp_path)
    assert run.without_database(None).verdict == "pass"
    plan, lines = run.plan, (run.folder / "telemetry.lp").read_text().splitlines()
    start_ns = min(int(line.rsplit(" ", 1)[1]) for line in lines if "transfer_start" in line)
    now_ms = 1_795_000_000_000
    run_list.begin(empty, plan, run.folder, now_ms * 1_000_000)
    empty.write(law_ahead(plan), RETENTION)
    empty.write(shifted(lines, start_ns), RETENTION)
    board = BOARDS["convergence"]
    variables = opened(board, empty, now_ms)
    panel = panel_of("convergence", "Window shares and the law")
    whole = span_of_panel(panel, variables, Span(now_ms - 900_000, now_ms, "now-15m"), now_ms)
    zero_ms = ZERO_NS // 1_000_000
    for span in (whole, Span(zero_ms + 4000, zero_ms + 8000)):
        low, high, law, share = (
            {
                (part.tags["connection"], time): value
                for part in empty.query(interpolate(target["query"], variables, Span(span.from_ms, span.to_ms)))
                for time, value in zip(part.columns["time"], part.columns["mean"], strict=True)
            }
            for target in panel["targets"]
        )
        assert set(low) == set(high) == set(law)
        both = set(low) & set(share)
        assert len(both) > 8
        assert [point for point in both if not low[point] - 1e-9 <= share[point] <= high[point] + 1e-9] == []
        assert max(time for _, time in low) < ZERO_NS + ends_s * 1e9
        assert min(time for _, time in low) >= ZERO_NS + 10**9 - 1
    (part,) = empty.query(interpolate(board["annotations"]["list"][0]["query"], variables, Span(0, now_ms)))
    (mark,) = (text for kind, text in zip(part.columns["kind"], part.columns["text"], strict=True) if kind == "law")
    assert mark.startswith(f"windows follow the law: judged from 1 s to {ends_s:g} s only")
    assert ("(" in mark) == (scenario == "link-break"), mark
