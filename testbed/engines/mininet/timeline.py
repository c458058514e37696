"""Carries out the plan's timeline on live links and agents, and records when each action took effect."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from influxdb.line_protocol import make_lines
from line_protocol_parser import parse_line

from testbed.message import Message
from testbed.plan.model import Action, Plan
from testbed.runtime.background import Background

AHEAD_S = 0.05
"""The lead with which an action is requested, so that whoever carries it out is ready and keeps the time."""
AHEAD_REMOTE_S = 0.5
"""The same where the action may be on another machine, several round trips away."""


class Target(Protocol):
    """Carries out actions at a time, or at once if that has passed, and returns when each took effect. Times are in
    Unix nanoseconds."""

    def prepare(self) -> None:
        """Called in the timeline's thread before the transfer starts."""

    def close(self) -> None:
        """Called in that thread after the last action."""

    def change(self, link: str, direction: str, properties: Mapping[str, Any], at_unix_ns: int) -> int:
        """Change properties of a link, keeping its queue."""

    def carrier(self, link: str, at_unix_ns: int, *, up: bool) -> int:
        """Take a link down, or up again."""

    def pause_read(self, connection: int, for_s: float, at_unix_ns: int) -> int:
        """Make the receiver stop reading from a connection for a time."""


class Timeline(Background):
    """Waits for the transfer's start, then carries out each action at its time and writes it to a spool."""

    def __init__(self, plan: Plan, target: Target, started_unix_ns: Callable[[], int | None], spool: Path) -> None:
        super().__init__("timeline", started_unix_ns)
        self._ahead_s = AHEAD_REMOTE_S if plan.get("place") else AHEAD_S
        self._plan, self._target, self._spool = plan, target, spool

    def run(self) -> None:
        """Carry out all actions, unless :meth:`stop` comes first."""
        if not self._plan["timeline"]:
            return
        try:
            self._target.prepare()
            self._carry_out_all()
        except Exception as error:  # the run ends with this message, whatever part could not do it
            self._error = Message("timeline.failed", f"timeline: {error}")
        finally:
            self._target.close()

    def _carry_out_all(self) -> None:
        if (start_ns := self._await_start()) is None:
            return
        for action in self._plan["timeline"]:
            due_ns = start_ns + round(action["at_s"] * 1e9)
            if self._stopped.wait(max(0.0, (due_ns - time.time_ns()) / 1e9 - self._ahead_s)):
                return
            try:
                self._record(action, self._carry_out(action, due_ns), start_ns)
            except Exception as error:  # the run ends with this message, whatever part could not do it
                text, at_s = action["text"], action["at_s"]
                self._error = Message("timeline.action-failed", f"timeline at {at_s:g} s ({text}): {error}")
                return

    def _carry_out(self, action: Action, at_unix_ns: int) -> int:
        match action["kind"]:
            case "set":
                return self._target.change(action["link"], action["direction"], action["properties"], at_unix_ns)
            case "carrier":
                return self._target.carrier(action["link"], at_unix_ns, up=action["up"])
            case "pause_read":
                return self._target.pause_read(action["connection"], action["for_s"], at_unix_ns)
        raise ValueError(f"there is no action {action['kind']!r}")

    def _record(self, action: Action, done_ns: int, start_ns: int) -> None:
        tags = {"run": self._plan["run"], "scenario": self._plan["scenario"], "kind": action["kind"]}
        times = {"at_s": (done_ns - start_ns) / 1e9, "asked_s": action["at_s"]}
        point = {
            "measurement": "event",
            "tags": tags | {"session": self._plan["sessions"][0]["name"]},
            "time": done_ns,
            "fields": {**times, "text": action["text"]},
        }
        with self._spool.open("ab", buffering=0) as spool:
            spool.write(make_lines({"points": [point]}).encode())


def rows_of(telemetry: Path) -> list[list[str]]:
    """The rows of ``events.csv`` without its head, by the events in a run's telemetry."""
    rows = []
    with telemetry.open(encoding="utf-8") as lines:
        for line in lines:
            fields = parse_line(line)["fields"] if line.startswith("event,") else {}
            if "asked_s" in fields:
                kind = parse_line(line)["tags"]["kind"]
                rows.append([f"{fields['asked_s']:.6f}", f"{fields['at_s']:.6f}", kind, fields["text"]])
    return rows


def write_csv(rows: Sequence[Sequence[str]], path: Path) -> None:
    """``events.csv``: a row per action, with planned and actual seconds since the transfer's start."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["asked_s", "at_s", "kind", "text"], *rows])
