"""The committed JSON and YAML are what Grafana 9.3 to 13 reads, and nothing in them points to what is not there."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError
from ruamel.yaml import YAML

from dashboards.document import uid_of
from dashboards.generate import DASHBOARDS, FOLDER
from tests.dashboards.schema import AlertFile, Dashboard

BOARDS = {name: json.loads((FOLDER / "json" / f"{name}.json").read_text()) for name in DASHBOARDS}
RULES = YAML(typ="safe").load(FOLDER / "provisioning" / "alerting" / "rules.yaml")

OF_GRAFANA = {"timeFilter", "__interval"}
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
        assert set(re.findall(r"\$\{(\w+)", variable["query"])) <= known
        known.add(variable["name"])


def test_every_panel_is_restricted_in_time(board):
    queries = [t["query"] for panel in board["panels"] for t in panel.get("targets", [])]
    queries += [annotation["query"] for annotation in board["annotations"]["list"]]
    assert queries
    assert all(query.count("$timeFilter") == 1 for query in queries)


def test_links_lead_to_dashboards_that_are_there():
    uids = {board["uid"] for board in BOARDS.values()}
    found = [
        uid for board in BOARDS.values() for text in texts(board) for uid in re.findall(r"/d/([\w-]+)", text)
    ]
    assert found
    assert set(found) <= uids


def test_a_panel_has_room_at_1280_pixels(board):
    # The page is 1280 px less the menu and the margins; a plot with axis and legend needs 380.
    for panel in board["panels"]:
        width_px = (1280 - 60) * panel["gridPos"]["w"] / 24
        assert width_px >= {"timeseries": 380, "stat": 200, "table": 600}.get(panel["type"], 1200), panel[
            "title"
        ]


def test_the_alert_rules_are_as_grafana_reads_them():
    AlertFile.model_validate(RULES)


def test_an_alert_belongs_to_a_panel_that_is_there():
    panels = {(uid_of(name), p["id"]) for name, board in BOARDS.items() for p in board["panels"]}
    for rule in RULES["groups"][0]["rules"]:
        assert (rule["dashboardUid"], rule["panelId"]) in panels


def test_an_alerts_message_names_scenario_run_and_figure():
    for rule in RULES["groups"][0]["rules"]:
        message = rule["annotations"]["summary"]
        assert "{{ .Labels.scenario }}" in message
        assert "{{ .Labels.run }}" in message
        values = re.findall(r"\.Values\.(\w+)\.Value", message)
        assert values
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
        (lambda board: board["panels"][0]["gridPos"].update({"w": 20}), "covers"),
        (lambda board: board["panels"][6].update({"repeat": "run"}), "only one value"),
        (lambda board: board["panels"][6]["fieldConfig"]["defaults"].update({"unit": "bit/s"}), "no unit"),
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
    assert found["database"] == found["jsonData"]["dbName"] == "ncp_testbed"
    assert (found["type"], found["uid"]) == ("influxdb", "ncp-influxdb")
    # Nothing secret is committed: Grafana takes it from its environment.
    assert found["secureJsonData"] == {"password": "$NCP_TESTBED_INFLUX_READER_PASSWORD"}
