"""Events of a run, or of many, for programs: a JSON object a line (``--json``), by ``schemas/events.schema.json``."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, TextIO

from pydantic import Field
from typing_extensions import NotRequired, TypedDict

from testbed.engines.sampled import RateUnit, Sampled, followed
from testbed.judge.status import Status
from testbed.plan.model import Plan
from testbed.runtime.progress import Ended, QuietProgress, SoFar, Step

SAMPLE_S = 1.0
SCHEMA: Literal[2] = 2


class Begun(TypedDict):
    """The first: what will be run, where its results go, and about how long its transfers take."""

    event: Literal["begun"]
    schema: Literal[2]
    """Of the events: since 2 every status is one of these, before there were other words."""
    scenario: str
    """Or the table, the sweep, or ``all``."""
    run: str
    engine: str
    folder: str
    runs: int
    """How many there are to be: 1 of a scenario."""
    expected_s: float


class RunBegun(TypedDict):
    """One of many runs is on."""

    event: Literal["run_begun"]
    name: str
    ended: int
    of: int
    left_s: float


class RunEnded(TypedDict):
    """One of many runs has ended, or is known from before (``kept``), as one of so many; the others take about
    ``left_s``."""

    event: Literal["run_ended"]
    name: str
    verdict: Status | Literal[""]
    """Empty where runs have none."""
    text: str
    kept: bool
    ended: int
    of: int
    left_s: float


class StepBegun(TypedDict):
    """A step of the run is on."""

    event: Literal["step_begun"]
    step: str


class StepEnded(TypedDict):
    """It ended after so many seconds of wall time, with ``failed`` where it broke down."""

    event: Literal["step_ended"]
    step: str
    seconds: float
    note: str
    failed: bool


class Sample(TypedDict):
    """A connection, at ``t_s`` seconds since the transfer's start; null for what is not known."""

    event: Literal["sample"]
    t_s: float
    session: str
    connection: str
    window_packets: float | None
    share: float | None
    law_share: float | None
    """Where the law of the plan has it, if a check asks."""
    rtt_ms: float | None
    rate: float | None
    rate_unit: RateUnit


class HappenedEvent(TypedDict):
    """Something happened to the transfer: it started or ended, or the timeline did something."""

    event: Literal["happened"]
    at_s: float
    kind: str
    text: str


class Said(TypedDict):
    """A line for people."""

    event: Literal["said"]
    text: str


class CheckOf(TypedDict):
    """What a check said."""

    name: str
    status: Status
    outcome: NotRequired[str]
    """Where a failure was expected: xfail, xpass, or fail."""
    code: str
    """What programs know the reason by; empty in results without codes, and of a claim."""
    reason: str


class VerdictEvent(TypedDict):
    """The last, of a run that was judged."""

    event: Literal["verdict"]
    verdict: Status
    summary: str
    checks: list[CheckOf]
    report: str
    exit_code: int


class ErrorEvent(TypedDict):
    """The last, where there is no verdict."""

    event: Literal["error"]
    code: str
    """What programs decide by: it stays the same when the message is worded otherwise."""
    message: str
    hint: str
    exit_code: int


Event = Annotated[
    Begun | RunBegun | RunEnded | StepBegun | StepEnded | Sample | HappenedEvent | Said | VerdictEvent | ErrorEvent,
    Field(discriminator="event"),
]


class EventProgress(QuietProgress):
    """Writes steps and samples as events."""

    def __init__(self, to: TextIO) -> None:
        super().__init__()
        self._to = to
        self._lock = threading.Lock()
        self._on: set[str] = set()

    def write(self, event: Event) -> None:
        """A line, at once."""
        with self._lock:
            print(json.dumps(event, ensure_ascii=False), file=self._to, flush=True)

    def begun(self, name: str, run: str, engine: str, folder: Path, runs: int, expected_s: float) -> None:
        """The first event."""
        self.write(
            {
                "event": "begun",
                "schema": SCHEMA,
                "scenario": name,
                "run": run,
                "engine": engine,
                "folder": str(folder),
                "runs": runs,
                "expected_s": round(expected_s, 3),
            }
        )

    def runs_on(self, step: Step, on: Mapping[str, float], where: str, so_far: SoFar) -> None:
        """An event for each that is new."""
        for name in on:
            self._begun(name, so_far)

    def run_ended(self, ended: Ended, so_far: SoFar) -> None:
        """Its end, after its beginning where that was not seen."""
        if not ended.kept:
            self._begun(ended.name, so_far._replace(ended=so_far.ended - 1))
        self._on.discard(ended.name)
        self.write(
            {
                "event": "run_ended",
                "name": ended.name,
                "verdict": Status(ended.verdict) if ended.verdict else "",
                "text": ended.told,
                "kept": ended.kept,
                "ended": so_far.ended,
                "of": so_far.of,
                "left_s": round(so_far.left_s, 1),
            }
        )

    def _begun(self, name: str, so_far: SoFar) -> None:
        if name not in self._on:
            self._on.add(name)
            left_s = round(so_far.left_s, 1)
            self.write({"event": "run_begun", "name": name, "ended": so_far.ended, "of": so_far.of, "left_s": left_s})

    def say(self, text: str) -> None:
        """As an event."""
        self.write({"event": "said", "text": text})

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Its beginning and its end."""
        self.write({"event": "step_begun", "step": name})
        failed, on = True, Step(name)
        try:
            with super().step(name) as on:
                yield on
            failed = False
        finally:
            took_s = self.seconds.get(name, 0.0)
            self.write({"event": "step_ended", "step": name, "seconds": took_s, "note": on.note, "failed": failed})

    def _line(self, step: Step, text: str) -> None:
        """The event says it."""

    @contextmanager
    def watching(self, plan: Plan, telemetry: Path) -> Iterator[None]:
        """A sample of every connection each second, and what happens as it happens; the last at the end."""
        sampled = Sampled(plan, telemetry)
        with followed(SAMPLE_S, lambda: self._tell(sampled)):
            yield
        self._tell(sampled)

    def _tell(self, sampled: Sampled) -> None:
        before = len(sampled.happened)
        sampled.look()
        for at_s, kind, text in sampled.happened[before:]:
            self.write({"event": "happened", "at_s": at_s, "kind": kind, "text": text})
        for flow in sampled.flows.values():
            self.write(
                {
                    "event": "sample",
                    "t_s": round(sampled.t_s, 3),
                    "session": flow.session,
                    "connection": flow.connection,
                    "window_packets": flow.window_packets,
                    "share": flow.share,
                    "law_share": sampled.law(flow),
                    "rtt_ms": flow.rtt_ms,
                    "rate": flow.rate,
                    "rate_unit": flow.rate_unit,
                }
            )
