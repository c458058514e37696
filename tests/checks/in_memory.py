"""Evidence that a test writes down: a small plan, and samples by series, without a file in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from testbed.judge.checks.evidence import Evidence
from testbed.judge.checks.registry import parameters_in_plan
from testbed.judge.checks.result import CheckResult
from testbed.judge.judge import judge_one
from testbed.series import Event, Samples
from testbed.series.series import Series

START_NS = 1_795_000_000_123_456_789
Where = frozenset[tuple[str, str]]
ALL: Where = frozenset()


def of_session(name: str = "s1") -> Where:
    return frozenset({("session", name)})


def to_the(direction: str) -> Where:
    return frozenset({("direction", direction)})


def at(t_s: Sequence[float], values: float | Iterable[float] | Callable[[float], float]) -> Samples:
    """Samples at seconds since the transfer's start: of one value, by a function of the time, or in order."""
    if isinstance(values, (int, float)):
        numbers = [float(values)] * len(t_s)
    else:
        numbers = [values(t) for t in t_s] if callable(values) else list(values)
    assert len(numbers) == len(t_s)
    return Samples.of([START_NS + round(t * 1e9) for t in t_s], numbers)


def ticks(to_s: float, interval_s: float = 0.1, from_s: float = 0.0) -> list[float]:
    """One tick after ``from_s`` to ``to_s``."""
    first, last = round(from_s / interval_s) + 1, round(to_s / interval_s)
    return [round(k * interval_s, 9) for k in range(first, last + 1)]


def event(kind: str, at_s: float, session: str = "s1", text: str = "") -> Event:
    return Event(START_NS + round(at_s * 1e9), kind, session, text)


class InMemory:
    """A reader of what it is given, and of nothing else: by series, and by the tags that are asked for."""

    def __init__(
        self, samples: Mapping[tuple[str, Where], Mapping[str, Samples]], events: Iterable[Event], run: str
    ) -> None:
        self._samples, self._events, self._run = samples, list(events), run

    def read(self, series: Series, where: Mapping[str, str] | None = None) -> dict[str, Samples]:
        return dict(self._samples.get((series.name, frozenset((where or {}).items())), {}))

    def events(self) -> list[Event]:
        return sorted(self._events)

    def runs(self) -> set[str]:
        return {self._run}

    def count_points(self) -> int:
        return 7


def small_plan(**changes: Any) -> Any:
    """Two connections of 1000 and 250 packets/s that share a window of 4000 packets of 1000 bytes: their windows go
    to 0.8 and 0.2 of it, in 3.2 s to 1/e of the way that is left."""
    links = [
        {
            "name": name,
            "a": {"host": "h1"},
            "b": {"host": "h2"},
            "rate_bps": pps * 8000,
            "frame_bytes": 1000,
            "burst_bytes": 3000,
            "delay_ms": delay_ms,
            "loss": 0.0,
            "queue": {"mode": "backpressure", "packets": 50},
        }
        for name, pps, delay_ms in (("fast", 1000, 50.0), ("slow", 250, 20.0))
    ]
    return {
        "run": "r1",
        "scenario": "small",
        "engine": "mininet",
        "variant": "full",
        "timeline": [],
        "links": links,
        "sessions": [small_session()],
        "telemetry": {"interval_ms": 100},
        "checks": [],
        "limits": {"rate_error": 0.02, "delay_error_ms": 1.0},
        **changes,
    }


def small_session(name: str = "s1", **changes: Any) -> Any:
    return {
        "name": name,
        "start_s": 0.0,
        "sender_host": "h1",
        "transport": "udp",
        "policy": "nkp24",
        "policy_facts": {},
        "transfer_bytes": 10_000_000,
        "send_window_bytes": 4_000_000,
        "mtu_bytes": 1000,
        "ack_interval_ms": 50,
        "connections": [{"index": 1, "link": "fast"}, {"index": 2, "link": "slow"}],
        **changes,
    }


def with_windows(window_packets: float, *initial: float) -> Any:
    """A session with so large a window, and the initial windows of its connections."""
    connections = [{"index": index, "link": "fast"} for index in range(1, len(initial) + 1)]
    windows: Any = {"send_window_bytes": window_packets, "mtu_bytes": 1, "initial_windows": list(initial)}
    return small_session(connections=connections, **windows)


def evidence_of(
    plan: Any,
    samples: Mapping[str | tuple[str, Where], Mapping[str, Samples]],
    *,
    end_s: float | None = 10.0,
    events: Iterable[Event] = (),
    results: Sequence[Mapping[str, Any]] = (),
    run: str = "r1",
    **counts: Any,
) -> Evidence:
    """Evidence with these samples, of session ``s1`` where nothing else is said; ``end_s`` None: it never ended."""
    by_key = {(key, of_session()) if isinstance(key, str) else key: groups for key, groups in samples.items()}
    known = [event("transfer_start", 0.0), *events]
    if end_s is not None:
        known.append(event("transfer_end", end_s))
    return Evidence(plan, InMemory(by_key, known, run), results, **counts)


def judged(check: Mapping[str, Any], evidence: Evidence) -> CheckResult:
    """One check's result, by its parameters as a plan has them."""
    (parameters,) = parameters_in_plan([{"name": "c", **check}])
    return judge_one(parameters, evidence)
