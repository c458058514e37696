"""A page that is just opened: default variables, default range, with runs of all engines in the database, with one run
only, with one that is on, and with none."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from dashboards.boards import DASHBOARDS
from dashboards.generate import FOLDER
from testbed.engines.mininet.live_database import Follower
from testbed.plan.duration import shown_s
from testbed.series.one_clock import RETENTION as ONE_CLOCK
from testbed.services.influx.client import Client
from testbed.services.influx.endpoint import DATABASE
from tests.checks.conftest import server
from tests.dashboards.conftest import begin, policies, recorded, replay
from tests.dashboards.grafana import Span, Variables, interpolate, opened, span_of_page, span_of_panel, values_of

BOARDS = {name: json.loads((FOLDER / "json" / f"{name}.json").read_text()) for name in DASHBOARDS}

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A server of this file's own: other tests keep what they wrote."""
    yield from server(tmp_path_factory)


@pytest.fixture
def empty(own):
    """Its database without anything in it."""
    own.execute(f'DROP DATABASE "{DATABASE}"')
    own.execute(f'CREATE DATABASE "{DATABASE}"')
    policies(own)
    return own


def renamed(document: dict[str, Any], run: str, engine: str, later_s: int = 0, **plan: Any) -> dict[str, Any]:
    """The same run as another, of another engine, ``later_s`` seconds later."""
    found = copy.deepcopy(document)
    old = found["plan"]["run"]
    found["plan"] |= {"run": run, "engine": engine, **plan}
    for key in ("telemetry", "written"):
        lines = found[key].splitlines() if isinstance(found[key], str) else found[key]
        moved = [line.replace(f"run={old}", f"run={run}") for line in lines]
        moved = [f"{line.rsplit(' ', 1)[0]} {int(line.rsplit(' ', 1)[1]) + later_s * 10**9}" for line in moved]
        found[key] = "".join(line + "\n" for line in moved) if isinstance(found[key], str) else moved
    return found


def page(board: dict[str, Any], client: Client, now_ms: int) -> dict[str, bool]:
    """Title and letter of each query of the page as it is just opened, and whether it has an answer."""
    return answered(
        board, client, opened(board, client, now_ms), span_of_page(board["time"]["from"], {}, now_ms), now_ms
    )


def answered(board: Any, client: Client, variables: Variables, whole: Span, now_ms: int) -> dict[str, bool]:
    """Title and letter of each query of a page, and whether it has an answer."""
    variables = _one_of_each(board, variables, client)
    found = {}
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            span = span_of_panel(panel, variables, whole, now_ms)
            query = interpolate(target["query"], variables, Span(span.from_ms, span.to_ms), 590)
            found[f"{panel['title']} {target['refId']}"] = bool(client.query(query))
    return found


def _one_of_each(board: dict[str, Any], variables: Variables, client: Client) -> Variables:
    """Of what panels are repeated by one will do."""
    repeated = {panel.get("repeat") for panel in board["panels"]} - {None}
    for variable in board["templating"]["list"]:
        if variable["name"] in repeated and (offered := values_of(variable, variables, client)):
            variables = variables.but(**{variable["name"]: [offered[0]]})
    return variables


def test_the_latest_run_by_time_is_shown_whatever_its_name(empty, tmp_path):
    document = recorded("nkp24")
    ends = [
        replay(empty, renamed(document, name, engine, later_s), _folder(tmp_path, name)).to_ms
        for name, engine, later_s in (
            ("vk-1394", "vkernel", 0),
            ("sim-e16e", "sim", 100),
            ("20261121-01", "mininet", 200),
        )
    ]
    now_ms = max(ends) + HOUR_MS
    for name in ("convergence", "links"):
        assert opened(BOARDS[name], empty, now_ms).chosen["shown"] == "20261121-01"
    replay(empty, renamed(document, "sim-later", "sim", 300), _folder(tmp_path, "sim-later"))
    assert opened(BOARDS["convergence"], empty, now_ms).chosen["shown"] == "sim-later"
    # What was chosen stays, and what nobody chose is the latest: the choice is offered first.
    run = next(v for v in BOARDS["convergence"]["templating"]["list"] if v["name"] == "run")
    offered = values_of(run, opened(BOARDS["convergence"], empty, now_ms), empty)
    assert offered == ["latest", "sim-later", "20261121-01", "sim-e16e", "vk-1394"]
    chosen = opened(BOARDS["convergence"], empty, now_ms, {"run": "vk-1394"})
    assert chosen.chosen["shown"] == "vk-1394"


def test_compare_opens_at_the_latest_run(empty, tmp_path):
    run = replay(empty, recorded("nkp24"), tmp_path)
    now_ms = run.to_ms + HOUR_MS
    assert opened(BOARDS["compare"], empty, now_ms).chosen["shown"] == run.plan["run"]


@pytest.mark.parametrize("engine", ["mininet", "sim", "vkernel"])
def test_one_run_alone_is_shown_whole_an_hour_later(empty, tmp_path, engine):
    run = replay(empty, renamed(recorded("nkp24"), "only", engine), tmp_path)
    answered = page(BOARDS["convergence"], empty, run.to_ms + HOUR_MS)
    missing = {title for title, has in answered.items() if not has}
    assert missing <= {"Settled after A"}  # it is too short for that
    board = BOARDS["convergence"]
    now_ms = run.to_ms + HOUR_MS
    variables = opened(board, empty, now_ms)
    plot = next(panel for panel in board["panels"] if panel["title"] == "Windows")
    span = span_of_panel(plot, variables, Span(now_ms - 900_000, now_ms, "now-15m"), now_ms)
    (every, _) = empty.query(
        'SELECT "window_packets" FROM "one_clock"."ncp_connection" WHERE "role" = \'sender\' GROUP BY "connection"'
    )
    transfer_ms = [ns / 1e6 for ns in every.columns["time"] if ns >= 946_684_800 * 10**9]
    assert span.from_ms <= min(transfer_ms) - 1000
    assert span.to_ms >= min(transfer_ms) + (run.to_ms - run.from_ms)
    assert span.to_ms - span.from_ms < (run.to_ms - run.from_ms) + 8000  # and no more than that


@pytest.mark.parametrize(("name", "run"), [("ndn", "ndn"), ("tcp", "beside-tcp"), ("links", "nkp24")])
def test_a_dashboard_of_one_kind_shows_the_latest_run_of_that_kind(empty, tmp_path, name, run):
    wanted = replay(empty, recorded(run), _folder(tmp_path, "wanted"))
    others = "nkp24" if run != "nkp24" else "previous"
    later = renamed(recorded(others), "later", "mininet", 86_400)
    end_ms = replay(empty, later, _folder(tmp_path, "later")).to_ms
    shown = opened(BOARDS[name], empty, end_ms + HOUR_MS).chosen["shown"]
    assert shown == ("later" if name == "links" else wanted.plan["run"])
    answered = page(BOARDS[name], empty, end_ms + HOUR_MS)
    assert sum(answered.values()) >= 0.8 * len(answered), [title for title, has in answered.items() if not has]


@pytest.mark.parametrize("name", BOARDS)
def test_nothing_at_all_is_no_error_and_is_said_in_words(empty, name):
    answered = page(BOARDS[name], empty, 1_795_000_000_000)
    assert answered
    assert not any(answered.values())
    chosen = opened(BOARDS[name], empty, 1_795_000_000_000).chosen
    assert all(chosen[span] for span in ("length", "ago") if span in chosen), "Grafana refuses a plot without a span"
    words = {panel["fieldConfig"]["defaults"]["noValue"] for panel in BOARDS[name]["panels"] if panel["type"] != "row"}
    assert "No points yet. If none come: ./run.sh run startup makes a run." in words
    # Grafana shows the same words while data are loading: a reason is one only if nothing comes.
    assert all("yet" in text.lower() or text == "–" for text in words)
    assert not any(re.match("There is no|[^.]*yet: (the|./)", text) for text in words)


def test_a_run_that_begins_is_there_with_its_law_before_anything_is_sent(empty, tmp_path):
    document = recorded("nkp24")
    begin(empty, document, tmp_path)
    started_ms = min(int(line.rsplit(" ", 1)[1]) for line in document["telemetry"].splitlines()) // 1_000_000
    board = BOARDS["convergence"]
    answered = page(board, empty, started_ms)
    assert answered["Window shares and the law A"]
    assert answered["Window shares and the law B"]
    assert answered["Ratio of the windows A"]
    variables = opened(board, empty, started_ms)
    verdict = next(panel for panel in board["panels"] if panel["title"] == "Verdict")
    (part,) = empty.query(interpolate(verdict["targets"][0]["query"], variables, Span(0, started_ms)))
    assert part.columns["state"] == ["on"]


def test_a_run_that_is_on_grows_on_its_axis(empty, tmp_path):
    """What the spools have is there a round later, the last line only when it is whole."""
    document = recorded("nkp24")
    plan = document["plan"]
    begin(empty, document, tmp_path)
    lines = document["telemetry"].splitlines()
    start_ns = next(int(line.rsplit(" ", 1)[1]) for line in lines if "transfer_start" in line)
    spool = tmp_path / "s1-sender" / "telemetry.lp"
    spool.parent.mkdir()
    half = [line for line in lines if int(line.rsplit(" ", 1)[1]) < start_ns + 10**9]
    spool.write_text("\n".join(half) + "\n" + lines[-1][:20])
    follower = Follower(None, plan, tmp_path, lambda: start_ns)  # type: ignore[arg-type]
    follower._follow(empty, start_ns, start_ns + 10**9)
    assert page(BOARDS["convergence"], empty, start_ns // 1_000_000)["Window shares and the law D"]
    assert _points(empty) == len(half)
    with spool.open("a") as more:
        more.write(lines[-1][20:] + "\n")
    follower._follow(empty, start_ns, start_ns + 2 * 10**9)
    assert _points(empty) == len(half) + 1


def test_a_run_that_takes_longer_than_expected_gets_a_longer_axis(empty, tmp_path):
    document = recorded("nkp24")
    begin(empty, document, tmp_path)
    follower = Follower(None, document["plan"], tmp_path, lambda: 0)  # type: ignore[arg-type]
    expected = shown_s(document["plan"])
    follower._follow(empty, 0, round((expected + 3) * 10**9))
    (part,) = empty.query("SELECT length_s FROM runs WHERE length_s > 0")
    assert part.columns["length_s"][0] > expected + 3


def _points(client: Client) -> int:
    found = client.query(f'SELECT * FROM "{ONE_CLOCK}"./^/ GROUP BY *')
    return sum(len(part.columns["time"]) for part in found if "ahead" not in part.name)


def _folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name
