"""Downloads: what a section stands for, what is made of both ends' words and of the packets, and the report."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from testbed.errors import RunFailed, Unsupported
from testbed.judge.checks.result import Trust, Verdict
from testbed.judge.judge import judge
from testbed.planning.resolve import Choices, resolve
from testbed.results.report.render import write_report
from testbed.runtime.progress import QuietProgress
from testbed.runtime.site import Site
from testbed.scenario.load import load
from testbed.scenario.tcp import Download
from testbed.series import FromFile
from testbed.traffic.tcp import Measured, download
from testbed.traffic.tcp.download import DownloadTransfer
from tests.checks.conftest import checks_alone  # noqa: F401 (a fixture)
from tests.raises import Said, raises
from tests.tcp.write_capture import Ends, write

START_S = 1_700_000_000.0
OBJECT_BYTES, SEGMENT = 20_000, 1_000
SCENARIO = """\
name: small
title: A small download
links: [{name: path, rate: 100mbit, delay: 25ms, burst: 2MiB}]
tcp:
  kind: download
  object: 20000B
  published: limited
  routes: {sender: {initcwnd: 800}}
checks:
  - {name: payload, judge: payload_intact}
  - {name: edges, judge: window_edges, count: 2, min_rise: 2, max_rise: 3}
"""


def section(**keys: Any) -> Download:
    return Download.model_validate({"kind": "download", **keys})


def test_a_section_has_the_sources_object():
    assert section().transfer_bytes() == 1 << 20
    assert section(object="2MiB", receive_buffer="1099776B").does() == (
        "sends one object of 2,097,152 bytes (SO_RCVBUF 1,099,776)"
    )


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"object": "1GiB"}, "less than or equal to 268435456"),
        ({"object": 5}, "has no unit"),
        ({"capture": "receiver"}, "Input should be 'sender' or 'both'"),
        ({"capture": True}, "Input should be 'sender' or 'both'"),
        ({"published": "other"}, "'limited' or 'unlimited'"),
    ],
)
def test_what_a_download_can_not_be_is_refused(keys, said):
    with pytest.raises(ValidationError, match=said):
        section(**keys)


@pytest.fixture
def plan(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    choices = Choices(runtime="process", middle="relay")
    resolved = resolve(load(str(tmp_path / "small.yaml")), {}, choices, "20260101-000000-abcd")
    read_back: dict[str, Any] = json.loads(json.dumps(resolved))
    return read_back


def make_folder(folder: Path, plan: Any, *, got: str = "same") -> Path:
    """A result folder up to judging: 4,000 bytes may be sent at first, 12,000 after a round trip, then all."""
    folder.mkdir()
    ends = Ends({"client": 2**32 - 9, "server": 5}, {"client": 0, "server": 0}, server=("10.0.0.2", download.PORT))
    frames = [(START_S, frame) for frame in ends.handshake((65535, 65535, 4_000))]
    for trip, (first, end, edge) in enumerate(((0, 4_000, 12_000), (4_000, 12_000, 30_000), (12_000, 20_000, 40_000))):
        at_s = START_S + 0.051 + trip * 0.05
        for sent in range(first, end, SEGMENT):
            frames.append((at_s, ends.frame("server", ".", 1 + sent, 1, 100, SEGMENT)))
        frames.append((at_s + 0.05, ends.frame("client", ".", 1, 1 + end, edge - end)))
    write(folder / "capture-sender.pcap", frames)
    common = {"bytes": OBJECT_BYTES, "congestion_control": "cubic", "error": ""}
    start_ns = int(START_S * 1e9) + 51_000_000
    server = {
        **common,
        "role": "sender",
        "sha256": "same",
        "acknowledged_ms": 151.0,
        "segments_sent": 20,
        "segments_sent_again": 0,
        "max_segment_size_bytes": SEGMENT,
        "started_unix_ns": start_ns,
        "finished_unix_ns": start_ns + 151_000_000,
    }
    (folder / "download-server.json").write_text(json.dumps(server) + "\nand what else it said\n")
    (folder / "download-client.json").write_text(json.dumps({**common, "role": "receiver", "sha256": got}))
    (folder / "plan.json").write_text(json.dumps(plan))
    return folder


def measure(folder: Path, plan: Any) -> Measured:
    transfer = DownloadTransfer(Site(plan, folder, {}, QuietProgress(), {}))
    transfer._kernel = {"asked_bytes": 212_992, "offered_bytes": 196_488, "limited": False}
    return transfer.measured()


def test_figures_come_from_the_server_and_the_packets(tmp_path, plan):
    measured = measure(make_folder(tmp_path / "run", plan), plan)
    assert measured.figures == {
        "completion_ms": 151.0,
        "rtts": pytest.approx(3.02),
        "theory_rtts": 2.0,  # one, and log5(20,000 / 4,000) = 1
        "initial_window_bytes": 4_000,
        "first_flight_bytes": 4_000,
        "first_flight_ms": 0.0,
        "edges_met": 2,
        "segments_sent_again": 0,
    }
    assert measured.details["sender"]["edges_met_bytes"] == [4_000, 12_000]
    assert (measured.bytes, measured.congestion_control) == (OBJECT_BYTES, "cubic")
    assert measured.duration_s == pytest.approx(0.151)


def test_a_failed_end_is_told(tmp_path, plan):
    folder = make_folder(tmp_path / "run", plan)
    (folder / "download-client.json").write_text('{"error": "connection reset"}')
    with raises(RunFailed, "tcp.download-failed", error="connection reset"):
        measure(folder, plan)
    (folder / "download-client.json").write_text("Killed")
    with raises(RunFailed, "tcp.no-download-result", error="Expecting value: line 1 column 1 (char 0)"):
        measure(folder, plan)


def test_a_hole_in_the_capture_is_told(tmp_path, plan):
    folder = make_folder(tmp_path / "run", plan)
    write(folder / "capture-sender.pcap", [])
    with raises(RunFailed, "tcp.several-connections", number_of_connections=0):
        measure(folder, plan)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (
            {"asked_bytes": 212_992, "offered_bytes": 65_535, "limited": True},
            Said("kernel.window-limited", asked_bytes=212992, offered_bytes=65535),
        ),
        ({"limited": None, "why": "not told"}, Said("kernel.window-unknown", why="not told")),
    ],
)
def test_a_kernel_that_limits_is_no_failure_but_can_not_do_the_case(tmp_path, plan, monkeypatch, kernel, said):
    monkeypatch.setattr(DownloadTransfer, "_probe", lambda _: kernel)
    plan["tcp"]["unlimited_window"] = True
    with raises(Unsupported, said):
        DownloadTransfer(Site(plan, tmp_path, {}, QuietProgress(), {})).start_server()


def judged(folder: Path, plan: Any) -> Verdict:
    """As a run has it: results of both ends, events, verdict."""
    measured = measure(folder, plan)
    (folder / "agents").mkdir()
    for role in ("sender", "receiver"):
        own = {"figures": dict(measured.figures)} if role == "receiver" else {}
        result = {"role": role, "session": "s1", "bytes": measured.bytes, **own, **measured.details[role]}
        (folder / "agents" / f"s1-{role}.json").write_text(json.dumps(result))
    (folder / "telemetry.lp").write_text(
        f'event,run=r,scenario=s,session=s1,kind=transfer_start at_s=0.0,text="" {measured.started_unix_ns}\n'
        f'event,run=r,scenario=s,session=s1,kind=transfer_end at_s=0.151,text="" {measured.finished_unix_ns}\n'
    )
    verdict = judge(plan, FromFile(folder / "telemetry.lp"), folder / "agents", Trust(trusted=True))
    (folder / "verdict.json").write_text(json.dumps(verdict.to_json()))
    return verdict


@pytest.mark.usefixtures("checks_alone")
def test_edges_are_judged(tmp_path, plan):
    verdict = judged(make_folder(tmp_path / "run", plan), plan)
    assert verdict.verdict == "pass"
    assert verdict.checks[1].reason == "The sender waited at 2 edges at 4,000, 12,000 bytes; they rose 3.00 times."
    plan["checks"][1] |= {"max_rise": 2.9}
    verdict = judge(plan, FromFile(tmp_path / "run/telemetry.lp"), tmp_path / "run/agents", Trust(trusted=True))
    assert [check.status for check in verdict.checks] == ["pass", "fail"]
    plan["checks"][1] |= {"max_rise": 3, "count": 3}
    verdict = judge(plan, FromFile(tmp_path / "run/telemetry.lp"), tmp_path / "run/agents", Trust(trusted=True))
    assert [check.status for check in verdict.checks] == ["pass", "fail"]


def test_another_content_is_not_intact(tmp_path, plan):
    verdict = judged(make_folder(tmp_path / "run", plan, got="other"), plan)
    assert [check.status for check in verdict.checks] == ["fail", "pass"]


def test_the_report_has_the_chart_and_theory_beside_measurement(tmp_path, plan):
    folder = make_folder(tmp_path / "run", plan)
    judged(folder, plan)
    page = write_report(folder).read_text()
    chart = (folder / "plots" / "time-sequence.svg").read_text()
    for label in ("right edge", "data", "theory", "patch: all acked"):
        assert f">{label}<" in chart, label
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", page)
    where = cells.index("edges that the sender waited at")
    assert cells[where : where + 4] == [cells[where], "65,536, 327,680", "–", "4,000, 12,000"]
    where = cells.index("all acknowledged, ms")
    assert cells[where + 1 : where + 4] == ["100.0", "195", "151.0"]
