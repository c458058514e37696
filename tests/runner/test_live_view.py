"""A transfer as it goes, from telemetry that grows: what is read, what is drawn, what is told to programs."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from testbed import paths
from testbed.engines import events, live_view
from testbed.engines.emulation.telemetry import GrowingFiles
from testbed.engines.events import EventProgress
from testbed.engines.live_view import LiveProgress, picture, sparkline
from testbed.engines.sampled import Sampled
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices, resolve
from testbed.runtime.progress import Ended, Progress, SoFar, Step
from testbed.scenario.load import load
from tests.plan.test_resolve import POLICIES

START_NS = 946684800_000000000
SCHEMA = Draft202012Validator(json.loads((paths.CHECKOUT / "schemas" / "events.schema.json").read_text()))


@pytest.fixture
def plan() -> Plan:
    return resolve(load("startup"), POLICIES, Choices(), "20261123-000000-abcd")


def line(measurement: str, tags: str, fields: str, at_s: float) -> str:
    return f"{measurement},{tags},run=r,scenario=startup {fields} {START_NS + round(at_s * 1e9)}\n"


def started() -> str:
    return line("event", "kind=transfer_start,session=s1", 'at_s=0,text="48 MiB"', 0)


def sampled_at(t_s: float, share: float = 0.75) -> str:
    both = ""
    for index, part in (("1", share), ("2", 1 - share)):
        tags = f"connection={index},policy=nkp24,session=s1"
        sender = f"delivered_pps=1,window_packets={4096 * part},window_share={part},rtt_ms=101.5"
        both += line("ncp_connection", f"{tags},role=sender", sender, t_s)
        both += line("ncp_connection", f"{tags},role=receiver", f"delivered_pps={1000 * part}", t_s)
    return both


def drawn(sampled: Sampled, width: int, height: int = 24) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height)
    with console.capture() as captured:
        console.print(picture(sampled, width, height))
    return captured.get().splitlines()


def test_lines_are_read_once_and_whole(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    first, second = tmp_path / "agent" / "a.lp", tmp_path / "b.lp"
    first.write_text("one\ntw")
    spools = GrowingFiles(tmp_path)
    assert list(spools.new_lines()) == [["one"]]
    with first.open("a") as file:
        file.write("o\n")
    second.write_text("three\n")
    assert list(spools.new_lines()) == [["two"], ["three"]]
    assert list(spools.new_lines()) == [[], []]
    assert list(GrowingFiles(tmp_path / "none.lp").new_lines()) == [[]]


def test_the_latest_sample_of_a_connection_is_known_with_the_law_beside_it(plan: Plan, tmp_path: Path) -> None:
    file = tmp_path / "telemetry.lp"
    file.write_text(started() + sampled_at(1.0, 0.6) + sampled_at(4.0) + "ncp_connection,cut off")
    sampled = Sampled(plan, file)
    sampled.look()
    fast = sampled.flows["s1", "1"]
    assert (fast.window_packets, fast.share, fast.rtt_ms, fast.rate) == (3072, 0.75, 101.5, 750)
    assert list(fast.rates) == [600, 750]
    assert sampled.t_s == 4
    assert sampled.law(fast) == pytest.approx(8 / 9 - (8 / 9 - 0.5) * 2.718281828 ** (-4 / (4096 / 1152)), abs=1e-6)
    assert [event.kind for event in sampled.happened] == ["transfer_start"]


def test_without_a_check_of_it_there_is_no_law(tmp_path: Path) -> None:
    plan = resolve(load("startup", ["policy=previous"]), POLICIES, Choices(), "20261123-000000-abcd")
    (tmp_path / "a.lp").write_text(started() + sampled_at(1.0))
    sampled = Sampled(plan, tmp_path)
    sampled.look()
    assert sampled.law(sampled.flows["s1", "1"]) is None
    assert "law" not in "\n".join(drawn(sampled, 80))


def test_lines_that_are_none_and_samples_before_the_start_are_passed_over(plan: Plan, tmp_path: Path) -> None:
    file = tmp_path / "a.lp"
    file.write_text(sampled_at(0.5) + "ncp_connection,x y\n" + "event,\n" + started() + sampled_at(2.0))
    sampled = Sampled(plan, file)
    sampled.look()
    assert sampled.t_s == 2


def test_flows_beside_have_their_own_unit(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "a.lp").write_text(started() + line("iperf3", "flow=1", "goodput_bps=2.5e6", 1.0))
    sampled = Sampled(plan, tmp_path)
    sampled.look()
    assert (sampled.flows["iperf3", "1"].rate, sampled.flows["iperf3", "1"].rate_unit) == (2.5, "Mbit/s")
    assert any("2.50 Mbit/s" in one for one in drawn(sampled, 80))


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_picture_keeps_to_the_terminal(plan: Plan, tmp_path: Path, width: int) -> None:
    file = tmp_path / "a.lp"
    file.write_text(started() + "".join(sampled_at(t_s / 2) for t_s in range(1, 120)))
    sampled = Sampled(plan, file)
    sampled.look()
    lines = drawn(sampled, width)
    assert all(len(one) <= width for one in lines)
    text = "\n".join(lines)
    if width < 80:
        return
    for told in ("1 fast", "2 slow", "75.0%", "102 ms", "750/s", "at best 43 s", "48 MiB"):
        assert told in text
    assert "│" in text
    assert "share (| law)" in text


def test_many_connections_leave_room_for_the_rest(tmp_path: Path) -> None:
    plan = resolve(load("startup", ["policy=previous"]), POLICIES, Choices(), "20261123-000000-abcd")
    file = tmp_path / "a.lp"
    samples = (
        line("ncp_connection", f"connection={i},role=sender,session=s1", "window_packets=1", 1.0) for i in range(1, 41)
    )
    file.write_text(started() + "".join(samples))
    sampled = Sampled(plan, file)
    sampled.look()
    lines = drawn(sampled, 80, height=24)
    assert len(lines) <= 24
    assert any("and 28 more" in one for one in lines)


def test_nothing_is_drawn_that_is_not_known_yet(plan: Plan, tmp_path: Path) -> None:
    sampled = Sampled(plan, tmp_path)
    sampled.look()
    assert "at best 43 s" in drawn(sampled, 80)[0]


def test_a_sparkline_goes_from_nothing_to_the_largest() -> None:
    assert sparkline([0, 5, 10]) == "▁▅█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


def test_the_view_follows_a_transfer_and_is_gone_after_it(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(live_view, "EVERY_S", 0.02)
    for key, value in {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}.items():
        monkeypatch.setenv(key, value)
    file = tmp_path / "a.lp"
    file.write_text(started() + sampled_at(1.0))
    progress = LiveProgress()
    with progress.step("transfer") as step, progress.watching(plan, tmp_path):
        while "75.0%" not in shown.getvalue():
            progress.update(step, "not shown")
        progress.say("a line meanwhile")
    progress.say("a line after it")
    text = shown.getvalue()
    assert "not shown" not in text
    assert text.index("75.0%") < text.index("a line after it")
    assert "a line meanwhile" in text


def test_a_view_ends_with_what_ends_the_transfer(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    progress = LiveProgress()
    with pytest.raises(KeyboardInterrupt), progress.watching(plan, tmp_path):
        raise KeyboardInterrupt
    progress.say("still here")
    assert shown.getvalue().endswith("still here\n")


def test_how_a_step_of_a_guest_goes_stays_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", shown)
    for progress in (LiveProgress(), Progress()):
        progress.passed_on(Step("guest"), "  transfer … 31%  10 s")
        progress.passed_on(Step("guest"), "  drain 1 s")
    live, plain = shown.getvalue().split("  drain 1 s\n")[:2]
    assert live.count("\n") == 0
    assert "guest" in live
    assert "31%" in live
    assert plain.count("\n") == 1


def test_events_are_those_of_the_schema(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "SAMPLE_S", 0.01)
    (tmp_path / "a.lp").write_text(started() + sampled_at(1.0))
    told = io.StringIO()
    progress = EventProgress(told)
    with progress.step("transfer") as step, progress.watching(plan, tmp_path):
        step.note = "noted"
    progress.say("a line")
    with pytest.raises(ValueError, match="broken"), progress.step("judge"):
        raise ValueError("broken")
    found = [json.loads(one) for one in told.getvalue().splitlines()]
    for event in found:
        SCHEMA.validate(event)
    assert [e for e in found if e["event"] == "happened"] == [
        {"event": "happened", "at_s": 0.0, "kind": "transfer_start", "text": "48 MiB"}
    ]
    sample = next(e for e in found if e["event"] == "sample")
    assert (sample["connection"], sample["share"], sample["t_s"], sample["rate"]) == ("1", 0.75, 1.0, 750.0)
    ends = [(e["step"], e["failed"], e["note"]) for e in found if e["event"] == "step_ended"]
    assert ends == [("transfer", False, "noted"), ("judge", True, "")]


def test_many_runs_are_told_of_each_as_it_begins_and_ends(tmp_path: Path) -> None:
    told = io.StringIO()
    progress = EventProgress(told)
    progress.begun("table", "run-1", "sim", tmp_path, 3, 12.0)
    progress.run_ended(Ended("a", "pass", "1 MiB/s, pass", kept=True), SoFar(1, 3, 9.0))
    for _ in range(2):
        progress.runs_on(Step("runs"), {"b": 0.5}, "", SoFar(1, 3, 9.0))
    progress.run_ended(Ended("b", "fail", "", kept=False), SoFar(2, 3, 4.0))
    progress.run_ended(Ended("c", "pass", "", kept=False), SoFar(3, 3, 0.0))  # over before anybody looked
    found = [json.loads(one) for one in told.getvalue().splitlines()]
    for event in found:
        SCHEMA.validate(event)
    assert [(e["event"], e.get("name"), e.get("ended"), e.get("verdict")) for e in found] == [
        ("begun", None, None, None),
        ("run_ended", "a", 1, "pass"),
        ("run_begun", "b", 1, None),
        ("run_ended", "b", 2, "fail"),
        ("run_begun", "c", 2, None),
        ("run_ended", "c", 3, "pass"),
    ]


def test_a_terminal_has_a_line_for_each_run_that_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("COLUMNS", "20")
    progress = Progress()
    on = {"row 1 nkp24 #1": 1.0, "row 2 with a long name": 2.0}
    progress.runs_on(Step("runs"), on, "", SoFar(1, 9, 30.0))
    progress.runs_on(Step("runs"), on, "", SoFar(1, 9, 30.0))
    progress.say("next")
    head, *below = shown.getvalue().split("\n    ")
    assert "[1/9]  about 30 s left" in head
    assert below[0] == "    1 s  row 1 "
    assert shown.getvalue().count("\033[A\033[K") == 4  # each line is taken away again, twice
    assert shown.getvalue().endswith("next\n")
    progress.runs_on(Step("runs"), {"one": 1.0}, "", SoFar(8, 9, 3.0))
    assert shown.getvalue().splitlines()[-1].endswith("[8/9] one  about 3 s left")


def test_a_wrong_event_is_none_of_the_schema() -> None:
    for wrong in ({"event": "none"}, {"event": "said"}, {"event": "sample", "t_s": "1"}):
        assert not SCHEMA.is_valid(wrong)


def run_in_json(tmp_path: Path, *arguments: str) -> tuple[int, list[dict[str, object]], str]:
    code = (
        "import os, sys; os.environ.update("
        f"NCP_TESTBED_RESULTS={str(tmp_path)!r}, NCP_TESTBED_STATE={str(tmp_path / 'state')!r}, "
        "NCP_TESTBED_INFLUX_PORT='18086'); from testbed.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "run", *arguments, "--json"]
    done = subprocess.run(command, cwd=paths.CHECKOUT, capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(one) for one in done.stdout.splitlines()], done.stderr


def test_a_run_is_told_from_its_beginning_to_its_verdict(tmp_path: Path) -> None:
    code, found, said = run_in_json(tmp_path, "links-flap", "--engine", "sim")
    for event in found:
        SCHEMA.validate(event)
    kinds = [event["event"] for event in found]
    assert kinds.index("begun") < kinds.index("happened") < kinds.index("verdict") == len(kinds) - 1
    assert (found[-1]["verdict"], found[-1]["exit_code"], code) == ("pass", 0, 0)
    assert Path(str(found[-1]["report"])).is_file()
    assert said.splitlines()[-1].startswith("PASS links-flap sim-")


def test_a_run_that_can_t_be_made_ends_in_an_error(tmp_path: Path) -> None:
    code, found, said = run_in_json(tmp_path, "dumbbell", "--engine", "sim")
    SCHEMA.validate(found[-1])
    assert (found[-1]["event"], found[-1]["exit_code"], code) == ("error", 4, 4)
    assert "iperf3" in str(found[-1]["message"])
    assert "error: " in said
