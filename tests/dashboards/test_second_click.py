"""Pages at the second click: of hundreds of runs the oldest as well as the latest, and both while more are made."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import typer

from testbed.cli.machine import clean
from testbed.engines import virtual_run
from testbed.engines.judging import Judged, judge_from, restore_aligned, store_judged
from testbed.engines.mininet.live_database import LiveDatabase
from testbed.engines.mininet.run import EmulatedRun
from testbed.exit_codes import Exit
from testbed.judge.checks.result import Trust
from testbed.runtime import leftovers
from testbed.runtime.interrupts import Interrupted, interruptible
from testbed.series import FromFile
from testbed.services.influx import run_list
from testbed.services.influx.client import Client
from testbed.services.influx.endpoint import DATABASE, Endpoint, Login
from tests.checks.conftest import server
from tests.dashboards.conftest import policies, recorded
from tests.dashboards.grafana import ALL, Span, interpolate, opened, span_of_panel
from tests.dashboards.test_opened import BOARDS, renamed

RUNS = 200
AT_ONCE = 6
"""Requests that a browser has with one server."""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    yield from server(tmp_path_factory)


@pytest.fixture(scope="module")
def database(own):
    """A server of this file's own, with hundreds of runs of one scenario."""
    policies(own)
    return own


@pytest.fixture
def in_environment(database, monkeypatch):
    """What runs in virtual time store goes there."""
    monkeypatch.setenv("NCP_TESTBED_INFLUX_URL", database._url)
    return database


def kept(document: dict[str, Any], folder: Path) -> Path:
    """The result folder of a recorded run."""
    (folder / "agents").mkdir(parents=True)
    for i, result in enumerate(document["agents"]):
        (folder / "agents" / f"{i}.json").write_text(json.dumps(result))
    (folder / "telemetry.lp").write_text(document["telemetry"])
    return folder


def made(document: dict[str, Any], folder: Path) -> Judged:
    """A run of an engine in virtual time, as it stores itself."""
    store = virtual_run.Database(document["plan"], kept(document, folder) / "telemetry.lp")
    points = store.store()
    assert points, store.note
    reader = FromFile(folder / "telemetry.lp")
    judged = judge_from(document["plan"], folder, reader, Trust(trusted=True), reader.count_points(), points)
    store.store_judged(judged)
    return judged


def asked(client: Client, run: str, name: str = "convergence") -> tuple[float, set[str]]:
    """The seconds that the queries of a page take as a browser sends them, and the queries that have an answer."""
    begun_s, now_ms = time.monotonic(), time.time_ns() // 1_000_000
    board = BOARDS[name]
    variables = opened(board, client, now_ms, {"scenario": [ALL], "run": run})
    page = Span(now_ms - 900_000, now_ms, "now-15m")
    queries = {}
    for panel in board["panels"]:
        span = span_of_panel(panel, variables, page, now_ms)
        for target in panel.get("targets", []):
            query = interpolate(target["query"], variables, Span(span.from_ms, span.to_ms))
            queries[f"{panel['title']} {target['refId']}"] = query
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = dict(zip(queries, pool.map(client.query, queries.values()), strict=True))
    return time.monotonic() - begun_s, {title for title, answer in answers.items() if answer}


@pytest.fixture
def hundreds(in_environment, tmp_path):
    """The names of the runs, oldest first; all as the first stored itself."""
    document = recorded("nkp24")
    first = document["plan"] | {"run": "run-000", "engine": "sim"}
    judged = made(renamed(document, "run-000", "sim"), tmp_path / "run-000")
    names = [f"run-{i:03d}" for i in range(RUNS)]
    for name in names[1:]:
        plan = first | {"run": name}
        aligned, derived = ([line.replace("run-000", name) for line in of] for of in (judged.aligned, judged.derived))
        run_list.begin(in_environment, plan, tmp_path / name, time.time_ns())
        store_judged(in_environment, plan, dataclasses.replace(judged, aligned=aligned, derived=derived))
    return names


def test_every_run_of_the_list_shows_its_data_also_while_more_are_made(hundreds, in_environment, tmp_path):
    board = BOARDS["convergence"]
    (listed,) = in_environment.query(
        next(panel for panel in board["panels"] if panel["title"] == "Recent runs")["targets"][0]["query"]
    )
    assert listed.columns["run"] == hundreds[::-1]
    plots = {
        f"{panel['title']} {target['refId']}"
        for panel in board["panels"]
        if panel["type"] == "timeseries"
        for target in panel["targets"]
    } - {"Ratio of the windows A", "Ratio of the windows B"}
    of_latest = asked(in_environment, hundreds[-1])[1] & plots
    assert len(of_latest) > 10
    for run in hundreds[:: RUNS // 10]:
        assert asked(in_environment, run)[1] & plots >= of_latest, run
    quiet_s = statistics.median(asked(in_environment, "latest")[0] for _ in range(10))
    with making_runs(tmp_path) as count:
        pages = [asked(in_environment, run) for _ in range(10) for run in ("latest", hundreds[0])]
    assert count() >= 2
    for _, has in pages:
        assert has & plots >= of_latest
    busy_s = statistics.median(seconds for seconds, _ in pages)
    print(f"a page: {quiet_s:.2f} s, while runs are made {busy_s:.2f} s, at most {max(s for s, _ in pages):.2f} s")
    assert busy_s < 10 * quiet_s


class making_runs:  # noqa: N801 (a context)
    """Runs are made and stored, one after another; gives the function that counts them."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._end, self._made = folder, threading.Event(), 0
        self._thread = threading.Thread(target=self._make)

    def __enter__(self) -> Callable[[], int]:
        self._thread.start()
        return lambda: self._made

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _make(self) -> None:
        document = recorded("nkp24")
        while not self._end.is_set():
            name = f"new-{self._made}"
            made(renamed(document, name, "sim"), self._folder / name)
            self._made += 1


def test_runs_whose_aligned_points_earlier_versions_removed_have_them_again(in_environment, tmp_path):
    of_the_common_clock = "time < '2010-01-01'"
    names = ("pruned", "moved-away", "whole")
    for name in names:
        document = renamed(recorded("nkp24"), name, "sim", scenario="pruning")
        made(document, tmp_path / name)
        (tmp_path / name / "plan.json").write_text(json.dumps({**document["plan"], "traffic": "ncp"}))
    before = {name: asked(in_environment, name)[1] for name in names}
    assert len(before["pruned"]) > 20
    for name in names[:2]:
        in_environment.execute(f"DELETE WHERE run = '{name}' AND {of_the_common_clock}")
        assert asked(in_environment, name)[1] < before[name]
    (tmp_path / "moved-away").rename(tmp_path / "elsewhere")
    assert restore_aligned(in_environment) == 1
    assert asked(in_environment, "pruned")[1] == before["pruned"]
    assert asked(in_environment, "whole")[1] == before["whole"]
    assert restore_aligned(in_environment) == 0


def test_a_run_that_is_stopped_while_it_is_judged_is_not_on_for_ever(in_environment, monkeypatch, tmp_path):
    document = renamed(recorded("nkp24"), "stopped", "sim", scenario="stopping")

    def stop(*_: Any) -> None:
        raise Interrupted("run.stopped", "stopped by SIGINT")

    with monkeypatch.context() as patch:
        patch.setattr("testbed.judge.checks.evidence.agent_results", stop)
        patch.setattr("testbed.engines.judging.agent_results", stop)
        with pytest.raises(Interrupted):
            made(document, tmp_path / "first")
    query = "SELECT state FROM runs WHERE scenario = 'stopping'"
    assert in_environment.query(query) == []
    judged = made(document, tmp_path / "second")
    (found,) = in_environment.query(query)
    assert found.columns["state"] == [judged.verdict.verdict.value]


def test_a_second_ctrl_c_does_not_keep_a_stopped_run_on(in_environment, monkeypatch, tmp_path):
    plan = recorded("nkp24")["plan"] | {"run": "twice", "scenario": "stopping-twice"}
    run_list.begin(in_environment, plan, tmp_path, time.time_ns())
    run = object.__new__(EmulatedRun)
    run.plan, run.folder = plan, tmp_path
    run.database = LiveDatabase(Endpoint(in_environment._url, DATABASE, {"admin": Login("", "")}))
    monkeypatch.setattr(run, "_write_provenance", lambda: os.kill(os.getpid(), signal.SIGINT))
    with interruptible():
        run._broke_down(Interrupted("run.stopped", "stopped by SIGINT"))
    (found,) = in_environment.query("SELECT state, summary FROM runs WHERE scenario = 'stopping-twice'")
    assert found.columns["state"] == ["error"]
    assert found.columns["summary"] == ["The run broke down: stopped by SIGINT"]


def test_clean_ends_what_was_killed_and_leaves_what_is_on(in_environment, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(leftovers, "remove_leftovers", lambda *_, **__: leftovers.Removed())
    monkeypatch.setattr("testbed.runtime.lock.holder", lambda: "cleaning here-and-on (pid 1)")
    for name in ("here-and-on", "here-and-killed"):
        plan = recorded("nkp24")["plan"] | {"run": name, "scenario": "cleaning"}
        run_list.begin(in_environment, plan, tmp_path, time.time_ns())
    for dry_run, state, said in ((True, "on", "would remove"), (False, "error", "removed")):
        with pytest.raises(typer.Exit) as ended:
            clean("", dry_run)
        assert ended.value.exit_code == Exit.PASS
        assert f"{said} “on” of killed run here-and-killed in the database" in capsys.readouterr().out
        (found,) = in_environment.query("SELECT run_id, state FROM runs WHERE scenario = 'cleaning'")
        states = dict(zip(found.columns["run_id"], found.columns["state"], strict=True))
        assert states == {"here-and-on": "on", "here-and-killed": state}
