"""The committed JSON and YAML are what Grafana 9.3 to 13 reads, and nothing in them points to what is not there."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError
from ruamel.yaml import YAML

from dashboards import alerts, panels, source
from dashboards.boards import DASHBOARDS
from dashboards.document import uid_of
from dashboards.generate import FOLDER
from testbed.judge.status import Status
from testbed.series.tables import BOARDS as BOARDS_OF_A_RUN
from testbed.services.influx.endpoint import DATABASE
from tests.dashboards.schema import AlertFile, Dashboard

BOARDS = {name: json.loads((FOLDER / "json" / f"{name}.json").read_text()) for name in DASHBOARDS}
RULES = YAML(typ="safe").load(FOLDER / "provisioning" / "alerting" / "rules.yaml")

OF_GRAFANA = {"timeFilter", "__interval", "__to"}
"""What Grafana replaces itself in a query."""


@pytest.fixture(params=sorted(BOARDS))
def board(request):
    return BOARDS[request.param]


def texts(value: Any) -> Iterator[str]:
    """Every text in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)


def test_a_dashboard_is_as_grafana_reads_it(board):
    Dashboard.model_validate(board)


def test_no_variable_is_missing(board):
    known = {variable["name"] for variable in board["templating"]["list"]} | OF_GRAFANA
    for text in texts(board):
        names = re.findall(r"\$(?:\{)?(\w+)|\[\[(\w+)", text)
        for name in (a or b for a, b in names):
            assert name in known or name == "__data" or name.startswith("tag_"), f"${name} in {text}"


def test_no_variable_asks_for_one_that_comes_later(board):
    known: set[str] = set()
    for variable in board["templating"]["list"]:
        assert set(re.findall(r"\$\{(\w+)", variable["query"])) <= known | {"__to"}
        known.add(variable["name"])


def test_every_query_is_restricted_in_time_or_to_a_run(board):
    queries = [t["query"] for panel in board["panels"] for t in panel.get("targets", [])]
    queries += [annotation["query"] for annotation in board["annotations"]["list"]]
    assert queries
    for query in queries:
        of_a_run = '"run" =~ ' in query or " LIMIT " in query
        assert query.count("$timeFilter") == 1 or (of_a_run and "time(" not in query), query


def test_plots_of_a_run_take_their_span_from_it(board):
    names = {variable["name"] for variable in board["templating"]["list"]}
    for panel in board["panels"]:
        if panel["type"] == "timeseries" and "length" in names:
            assert (panel["timeFrom"], panel["timeShift"]) == ("${length}s", "${ago}s")
            assert panel["hideTimeOverride"]


def test_recent_runs_are_on_top_and_lead_to_each(board):
    first = board["panels"][0]
    assert (first["title"], first["type"], first["gridPos"]["y"]) == ("Recent runs", "table", 0)
    assert "$timeFilter" not in first["targets"][0]["query"]  # 90 days stay 90 days
    links = {
        o["matcher"]["options"]: p["value"][0]["url"]
        for o in first["fieldConfig"]["overrides"]
        for p in o["properties"]
        if p["id"] == "links"
    }
    assert "var-run=${__data.fields.run}" in links["run"]
    assert links["state"] == "/public/results/${__data.fields.report}"


def test_every_dashboard_is_in_one_menu_and_time_is_kept_among_those_of_one_clock(board):
    menus = [link for link in board["links"] if link["type"] == "dashboards"]
    tags = [tag for menu in menus for tag in menu["tags"]]
    assert [len(set(tags) & set(other["tags"])) for other in BOARDS.values()] == [1] * len(BOARDS)
    assert all(menu["includeVars"] for menu in menus)
    assert [tag for menu in menus if menu["keepTime"] for tag in menu["tags"]] == board["tags"]


def test_every_panel_says_what_it_shows_and_what_is_missing(board):
    for panel in board["panels"]:
        if panel["type"] != "row":
            assert len(panel["description"]) > 20, panel["title"]
            assert panel["fieldConfig"]["defaults"]["noValue"], panel["title"]


def test_no_figure_without_a_unit_of_its_own_is_a_percentage():
    for board, title in (
        ("speed-table", "table by table"),
        ("speed-table", "Row $row: "),
        ("ndn", "Cuts of the window"),
        ("convergence", "Ratio of the windows"),
    ):
        panels = [p for p in BOARDS[board]["panels"] if title in p["title"] and p["type"] != "row"]
        assert panels
        assert {p["fieldConfig"]["defaults"]["unit"] for p in panels} == {"none"}


def test_shares_that_may_be_nothing_have_an_axis_of_shares():
    (loss,) = [p for p in BOARDS["links"]["panels"] if p["title"] == "Loss of $link"]
    assert loss["fieldConfig"]["defaults"]["custom"]["axisSoftMax"] == 0.01


def test_a_connection_has_its_colour_everywhere():
    colours: dict[str, set[str]] = {}
    for board in BOARDS.values():
        for panel in board["panels"]:
            for override in panel.get("fieldConfig", {}).get("overrides", []):
                match = re.fullmatch(r"/\[/-\](\d)\( \|\$\)/", override["matcher"]["options"])
                if match:
                    colours.setdefault(match[1], set()).add(override["properties"][0]["value"]["fixedColor"])
    assert len(colours) == 8
    assert all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == 8


def contrast(a: str, b: str) -> float:
    """By WCAG 2.1, 1 to 21."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    brighter, darker = sorted((luminance(a), luminance(b)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("background", ["#181b1f", "#ffffff"], ids=["dark", "light"])
def test_colours_can_be_seen_in_both_themes(background):
    for color in panels.CONNECTIONS[:4]:
        assert contrast(color, background) >= 2.5
    for color in (panels.GREY, panels.GREEN, panels.RED, panels.AMBER):
        assert contrast(color, "#ffffff") >= 4  # the words on them are white


def test_only_what_passed_is_green():
    green = [word for word, (_, color) in panels.STATES.items() if color == panels.GREEN]
    assert {Status(word) for word in green} == {Status.PASS}
    assert not {word for word in panels.STATES if word != "on" and Status(word) == Status.PASS} - set(green)
    (verdict,) = [p for p in BOARDS["convergence"]["panels"] if p["title"] == "Verdict"]
    defaults = verdict["fieldConfig"]["defaults"]
    assert defaults["thresholds"]["steps"] == [{"value": None, "color": panels.GREY}]
    for panel in BOARDS["convergence"]["panels"]:
        steps = panel.get("fieldConfig", {}).get("defaults", {}).get("thresholds", {}).get("steps", [])
        assert all(step["color"] != "green" for step in steps)


def test_links_lead_to_dashboards_that_are_there():
    uids = {board["uid"] for board in BOARDS.values()}
    found = [
        uid for board in BOARDS.values() for text in texts(board) for uid in re.findall(r"/d/([\w-]+)", text)
    ]  # that of a run's own dashboard is in the list of runs
    assert found
    assert set(found) - {"ncp-"} <= uids
    assert {uid_of(board) for board in BOARDS_OF_A_RUN} <= uids


def test_a_panel_has_room_at_1280_pixels(board):
    # The page is 1280 px less the menu and the margins; a plot with axis and legend needs 380.
    for panel in board["panels"]:
        width_px = (1280 - 60) * panel["gridPos"]["w"] / 24
        least = {"timeseries": 380, "stat": 200, "table": 600, "bargauge": 600}
        assert width_px >= least.get(panel["type"], 1200), panel["title"]


def test_the_alert_rules_are_as_grafana_reads_them():
    AlertFile.model_validate(RULES)


def test_an_alert_is_tied_to_no_panel():
    """Grafana would draw a broken heart on it, beside the PASS of another run as well."""
    for rule in RULES["groups"][0]["rules"]:
        assert not {"dashboardUid", "panelId"} & set(rule)
        assert not {"__dashboardUid__", "__panelId__"} & set(rule["annotations"])


def test_an_alerts_message_names_scenario_policy_run_measured_and_expected():
    for rule in RULES["groups"][0]["rules"]:
        message = rule["annotations"]["summary"]
        for label in ("scenario", "policy", "run"):
            assert f"{{{{ .Labels.{label} }}}}" in message
        if rule["uid"] != "ncp-broke-down":  # of which nothing was measured
            assert "easured" in message
            assert "expected" in message
        assert "nothing, expected" not in message
        values = re.findall(r"\.Values\.(\w+)\.Value", message)
        assert set(values) <= {step["refId"] for step in rule["data"]}
        for label in re.findall(r"\.Labels\.(\w+)", message):
            for step in rule["data"]:
                query = step["model"].get("query", f'GROUP BY "{label}"')
                assert f'"{label}"' in query.split("GROUP BY")[1], f"{rule['title']}: {step['refId']}"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rule: rule.update({"for": ""}), "for"),
        (lambda rule: rule.update({"for": "5 min"}), "for"),
        (lambda rule: rule.update({"condition": "C"}), "is no step"),
        (lambda rule: rule.update({"noDataState": "Ok"}), "noDataState"),
        (lambda rule: rule.update({"execErrState": "NoData"}), "execErrState"),
        (lambda rule: rule["data"].clear(), "data"),
        (lambda rule: rule["data"].reverse(), "no earlier step"),
        (lambda rule: rule["annotations"].update({"summary": "{{ $labels.run }}"}), "annotations"),
        (lambda rule: rule.pop("uid"), "uid"),
        (lambda rule: rule.update({"anotations": {}}), "anotations"),
    ],
)
def test_a_rule_that_would_stop_grafana_is_found(change, says):
    broken = json.loads(json.dumps(RULES))
    change(broken["groups"][0]["rules"][0])
    with pytest.raises(ValidationError, match=says):
        AlertFile.model_validate(broken)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda board: board["panels"][0].update({"id": 2}), "same id"),
        (lambda board: board["panels"][0].update({"type": "graph"}), "graph"),
        (lambda board: board["panels"][0]["targets"][0].update({"datasource": "InfluxDB"}), "datasource"),
        (lambda board: board["panels"][2]["gridPos"].update({"w": 20}), "covers"),
        (lambda board: board["panels"][7].update({"repeat": "run"}), "only one value"),
        (lambda board: board["panels"][7]["fieldConfig"]["defaults"].update({"unit": "bit/s"}), "no unit"),
        (lambda board: board["annotations"]["list"][0].pop("query"), "query"),
    ],
)
def test_a_dashboard_that_grafana_would_misread_is_found(change, says):
    broken = json.loads(json.dumps(BOARDS["convergence"]))
    change(broken)
    with pytest.raises(ValidationError, match=says):
        Dashboard.model_validate(broken)


def test_the_data_source_has_its_database_in_both_places():
    (found,) = YAML(typ="safe").load(FOLDER / "provisioning" / "datasources" / "influxdb.yaml")["datasources"]
    assert found["jsonData"]["httpMode"] == "GET"  # answers to POST come cut
    assert found["database"] == found["jsonData"]["dbName"] == DATABASE == "ncp_testbed"
    assert (found["type"], found["uid"]) == (source.TYPE, source.UID) == ("influxdb", "ncp-influxdb")
    # Nothing secret is committed: Grafana takes it from its environment.
    assert found["secureJsonData"] == {"password": "$NCP_TESTBED_INFLUX_READER_PASSWORD"}


def test_dashboards_are_in_the_folder_of_the_alert_rules():
    (found,) = YAML(typ="safe").load(FOLDER / "provisioning" / "dashboards" / "dashboards.yaml")["providers"]
    assert found["folder"] == alerts.FOLDER
