"""The timeline's driver: each action once, in order, at its time or later, recorded with both times."""

import csv
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from line_protocol_parser import parse_line

from testbed.engines.emulation.timeline import LiveTarget, Timeline, write_csv
from tests.said import has
from topologies.live_change import wait_until


class Recorder(LiveTarget):
    """Remembers what was asked of it and when."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.times_ns: list[int] = []
        self.prepared = self.closed = False

    def prepare(self) -> Any:
        self.prepared = True
        return self

    def close(self) -> None:
        self.closed = True

    def change(self, link: str, direction: str, properties: Mapping[str, Any], at_unix_ns: int) -> int:
        if "explode" in properties:
            raise RuntimeError("no such property")
        return self._called("change", at_unix_ns, link, direction, dict(properties))

    def carrier(self, link: str, at_unix_ns: int, *, up: bool) -> int:
        return self._called("carrier", at_unix_ns, link, up)

    def pause_read(self, connection: int, for_s: float, at_unix_ns: int) -> int:
        return self._called("pause_read", at_unix_ns, connection, for_s)

    def _called(self, what: str, at_unix_ns: int, *how: Any) -> int:
        self.calls.append((what, how))
        self.times_ns.append(at_unix_ns)
        wait_until(at_unix_ns)
        return time.time_ns()


def plan(*actions: dict[str, Any]) -> Any:
    return {"run": "r", "scenario": "s", "sessions": [{"name": "s1"}], "timeline": list(actions)}


ACTIONS = (
    {"at_s": 0.05, "kind": "set", "text": "a", "link": "l", "direction": "ab", "properties": {"loss": 0.5}},
    {"at_s": 0.10, "kind": "carrier", "text": "b", "link": "l", "up": False},
    {"at_s": 0.15, "kind": "pause_read", "text": "c", "connection": 2, "for_s": 1.0},
)


def test_actions_are_carried_out_in_order_and_recorded(tmp_path: Path) -> None:
    recorder = Recorder()
    start_ns = time.time_ns()
    timeline = Timeline(plan(*ACTIONS), recorder, lambda: start_ns, tmp_path / "events.lp")
    timeline.start()
    timeline.join(10)
    assert timeline.failure() is None
    assert recorder.calls == [
        ("change", ("l", "ab", {"loss": 0.5})),
        ("carrier", ("l", False)),
        ("pause_read", (2, 1.0)),
    ]
    assert recorder.prepared
    assert recorder.closed
    assert recorder.times_ns == [start_ns + ms * 1_000_000 for ms in (50, 100, 150)]

    points = [parse_line(line) for line in (tmp_path / "events.lp").read_text().splitlines()]
    assert all(point["fields"]["at_s"] >= point["fields"]["asked_s"] for point in points), "never early"
    assert [point["tags"]["kind"] for point in points] == ["set", "carrier", "pause_read"]
    assert [point["fields"]["asked_s"] for point in points] == [0.05, 0.10, 0.15]

    write_csv(tmp_path / "events.lp", tmp_path / "events.csv")
    with (tmp_path / "events.csv").open() as file:
        assert [row["text"] for row in csv.DictReader(file)] == ["a", "b", "c"]


def test_nothing_happens_before_the_transfer_starts(tmp_path: Path) -> None:
    recorder = Recorder()
    timeline = Timeline(plan(*ACTIONS), recorder, lambda: None, tmp_path / "events.lp")
    timeline.start()
    time.sleep(0.2)
    timeline.stop()
    assert recorder.calls == []
    assert not timeline.is_alive()


def test_an_action_that_fails_ends_the_timeline_with_its_cause(tmp_path: Path) -> None:
    bad = {**ACTIONS[0], "properties": {"explode": 1}, "text": "link l: explode 1"}
    recorder = Recorder()
    timeline = Timeline(plan(bad, *ACTIONS[1:]), recorder, lambda: 1, tmp_path / "events.lp")
    timeline.start()
    timeline.join(10)
    failure = timeline.failure()
    assert failure is not None
    assert failure.code == "timeline.action-failed"
    assert has(failure, "at_s, action, error", [0.05, "link l: explode 1", "no such property"])
    assert recorder.calls == []
