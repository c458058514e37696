"""Carries out the plan's timeline on live links and agents, and records when each action really took place."""

from __future__ import annotations

import csv
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from influxdb.line_protocol import make_lines
from line_protocol_parser import parse_line

from testbed.message import Message
from testbed.plan.model import Action, Plan

AHEAD_S = 0.05
"""So long before its time an action is asked for, so that who carries it out can be ready, and keep the time itself."""
AHEAD_ELSEWHERE_S = 0.5
"""Where that may be on another machine: a request takes several times what the way there and back does."""


class Target(Protocol):
    """What actions are done to, at a time or at once if that has passed. Each tells when it took effect. Times are in
    Unix nanoseconds."""

    def prepare(self) -> None:
        """Called in the thread that will ask for the actions, before the transfer starts."""

    def close(self) -> None:
        """Called in that thread after the last action."""

    def change(self, link: str, direction: str, properties: Mapping[str, Any], at_unix_ns: int) -> int:
        """Change properties of a link, keeping what is queued."""

    def carrier(self, link: str, at_unix_ns: int, *, up: bool) -> int:
        """Pull a link's plug or put it back."""

    def pause_read(self, connection: int, for_s: float, at_unix_ns: int) -> int:
        """Make the receiver stop reading from a connection for a time."""


@dataclass(frozen=True)
class Done:
    """An action that was carried out: seconds since the transfer's start, asked and actual."""

    at_unix_ns: int
    kind: str
    asked_s: float
    at_s: float
    text: str


class Timeline(threading.Thread):
    """Waits for the transfer's start, then carries out each action at its time."""

    def __init__(self, plan: Plan, target: Target, started_unix_ns: Callable[[], int | None], spool: Path) -> None:
        super().__init__(name="timeline", daemon=True)
        self._ahead_s = AHEAD_ELSEWHERE_S if plan.get("place") else AHEAD_S
        self._plan, self._target, self._started_unix_ns, self._spool = plan, target, started_unix_ns, spool
        self._stopped = threading.Event()
        self.done: list[Done] = []
        self._error: Message | None = None

    def failure(self) -> Message | None:
        """Why an action could not be carried out, or None."""
        return self._error

    def run(self) -> None:
        """Until the last action, or :meth:`stop`."""
        if not self._plan["timeline"]:
            return
        try:
            self._target.prepare()
            self._carry_out_all()
        except Exception as error:  # the run ends with this message, whatever part could not do it
            self._error = Message("timeline.failed", "timeline: {error}", error=error)
        finally:
            self._target.close()

    def _carry_out_all(self) -> None:
        start_ns = None
        while start_ns is None:
            if self._stopped.wait(0.02):
                return
            start_ns = self._started_unix_ns()
        for action in self._plan["timeline"]:
            due_ns = start_ns + round(action["at_s"] * 1e9)
            if self._stopped.wait(max(0.0, (due_ns - time.time_ns()) / 1e9 - self._ahead_s)):
                return
            try:
                done_ns = self._carry_out(action, due_ns)
            except Exception as error:  # the run ends with this message, whatever part could not do it
                self._error = Message(
                    "timeline.action-failed",
                    "timeline at {at_s:g} s ({action}): {error}",
                    at_s=action["at_s"],
                    action=action["text"],
                    error=error,
                )
                return
            at_s = (done_ns - start_ns) / 1e9
            self._record(Done(done_ns, action["kind"], action["at_s"], at_s, action["text"]))

    def stop(self) -> None:
        """End; actions that are still to come are left out."""
        self._stopped.set()
        if self.is_alive():
            self.join()

    def _carry_out(self, action: Action, at_unix_ns: int) -> int:
        match action["kind"]:
            case "set":
                return self._target.change(action["link"], action["direction"], action["properties"], at_unix_ns)
            case "carrier":
                return self._target.carrier(action["link"], at_unix_ns, up=action["up"])
            case "pause_read":
                return self._target.pause_read(action["connection"], action["for_s"], at_unix_ns)
        raise ValueError(f"there is no action {action['kind']!r}")

    def _record(self, done: Done) -> None:
        self.done.append(done)
        point = {
            "measurement": "event",
            "tags": {
                "run": self._plan["run"],
                "scenario": self._plan["scenario"],
                "kind": done.kind,
                "session": self._plan["sessions"][0]["name"],
            },
            "time": done.at_unix_ns,
            "fields": {"at_s": done.at_s, "asked_s": done.asked_s, "text": done.text},
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


def write_csv(done: Sequence[Done], path: Path) -> None:
    """``events.csv``: a row per action, with asked and actual seconds since the transfer's start."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["asked_s", "at_s", "kind", "text"])
        writer.writerows([f"{d.asked_s:.6f}", f"{d.at_s:.6f}", d.kind, d.text] for d in done)
