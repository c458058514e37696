"""Events of a run, or of many, for programs: a JSON object a line (``--json``), by ``schemas/events.schema.json``."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

from pydantic import Field
from typing_extensions import NotRequired, TypedDict

from testbed.engines.sampled import Following, RateUnit, Sampled
from testbed.judge.status import Status
from testbed.plan.model import Plan
from testbed.runtime.progress import Ended, QuietProgress, SoFar, Step

SAMPLE_S = 1.0
SCHEMA: Literal[2] = 2


class Begun(TypedDict):
    """The first event: the coming run or runs, their folder, and about how long their transfers take."""

    event: Literal["begun"]
    schema: Literal[2]
    """The version of the events: since 2 every status is a :class:`Status`; earlier ones had other words."""
    scenario: str
    """The scenario's name, or that of the table or sweep, or ``all``."""
    run: str
    engine: str
    folder: str
    runs: int
    """The number of runs: 1 of a scenario."""
    expected_s: float


class RunBegun(TypedDict):
    """One of many runs is on."""

    event: Literal["run_begun"]
    name: str
    ended: int
    of: int
    left_s: float | None


class RunEnded(TypedDict):
    """One of many runs has ended, now or in an earlier attempt (``kept``); the others take about ``left_s``."""

    event: Literal["run_ended"]
    name: str
    verdict: Status | Literal[""]
    """The run's verdict; empty where runs have none."""
    text: str
    kept: bool
    ended: int
    of: int
    left_s: float | None


class StepBegun(TypedDict):
    """A step of the run is on."""

    event: Literal["step_begun"]
    step: str


class StepEnded(TypedDict):
    """A step ended after so many seconds of wall time, with ``failed`` where it broke down."""

    event: Literal["step_ended"]
    step: str
    seconds: float
    note: str
    failed: bool


class Sample(TypedDict):
    """A connection, at ``t_s`` seconds since the transfer's start; null for unknown values."""

    event: Literal["sample"]
    t_s: float
    session: str
    connection: str
    window_packets: float | None
    share: float | None
    law_share: float | None
    """The share that the law of the plan gives, if a check needs it."""
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
    """The result of a check."""

    name: str
    status: Status
    outcome: NotRequired[str]
    """The outcome of an expected failure: xfail, xpass, or fail."""
    code: str
    """The code of the reason; empty in results without codes, and of a claim."""
    reason: str


class VerdictEvent(TypedDict):
    """The last event of a run that was judged."""

    event: Literal["verdict"]
    verdict: Status
    summary: str
    checks: list[CheckOf]
    report: str
    exit_code: int


class ErrorEvent(TypedDict):
    """The last event where there is no verdict."""

    event: Literal["error"]
    code: str
    """The code for programs to decide by: it stays the same when the message is worded otherwise."""
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

    def tell(self, event: str, /, **values: Any) -> None:
        """Write an event at once."""
        with self._lock:
            print(json.dumps({"event": event, **values}, ensure_ascii=False), file=self._to, flush=True)

    def begun(self, name: str, run: str, engine: str, folder: Path, runs: int, expected_s: float) -> None:
        run_facts = {"scenario": name, "run": run, "engine": engine, "folder": str(folder), "runs": runs}
        self.tell("begun", schema=SCHEMA, **run_facts, expected_s=round(expected_s, 3))

    def runs_on(self, step: Step, on: Mapping[str, float], where: str, so_far: SoFar) -> None:
        """Write an event for each new run."""
        for name in on:
            self._begun(name, so_far)

    def run_ended(self, ended: Ended, so_far: SoFar) -> None:
        """Write the end of a run, after its beginning where that was not seen."""
        if not ended.kept:
            self._begun(ended.name, so_far._replace(ended=so_far.ended - 1))
        self._on.discard(ended.name)
        how = {"verdict": Status(ended.verdict) if ended.verdict else "", "text": ended.text, "kept": ended.kept}
        self.tell("run_ended", name=ended.name, **how, **_numbers(so_far))

    def _begun(self, name: str, so_far: SoFar) -> None:
        if name not in self._on:
            self._on.add(name)
            self.tell("run_begun", name=name, **_numbers(so_far))

    def say(self, text: str) -> None:
        self.tell("said", text=text)

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Write the beginning and the end of a step."""
        self.tell("step_begun", step=name)
        failed, on = True, Step(name)
        try:
            with super().step(name) as on:
                yield on
            failed = False
        finally:
            took_s = self.seconds.get(name, 0.0)
            self.tell("step_ended", step=name, seconds=took_s, note=on.note, failed=failed)

    def _line(self, step: Step, text: str) -> None:
        """Nothing: the event says it."""

    @contextmanager
    def watching(self, plan: Plan, telemetry: Path) -> Iterator[None]:
        """Write a sample of every connection each second and at the end, and timeline events as they happen."""
        sampled = Sampled(plan, telemetry)
        with Following(SAMPLE_S, lambda: self._tell(sampled)):
            yield
        self._tell(sampled)

    def _tell(self, sampled: Sampled) -> None:
        before = len(sampled.happened)
        sampled.look()
        for happened in sampled.happened[before:]:
            self.tell("happened", **happened._asdict())
        for flow in sampled.flows.values():
            values = {name: getattr(flow, name) for name in _OF_A_FLOW}
            self.tell("sample", t_s=round(sampled.t_s, 3), **values, law_share=sampled.law(flow))


_OF_A_FLOW = ("session", "connection", "window_packets", "share", "rtt_ms", "rate", "rate_unit")


def _numbers(so_far: SoFar) -> dict[str, float | None]:
    return {**so_far._asdict(), "left_s": None if so_far.left_s is None else round(so_far.left_s, 1)}
