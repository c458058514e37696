"""An agent that does not answer: told of where it hangs, not where it has ended or was held up for a moment."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from testbed.errors import RunFailed
from testbed.runtime.transfer import SILENT_S, STALLED_S, Heard
from tests.raises import raises


@dataclass
class One:
    """An agent of which only the end is known."""

    ended: int | None = None
    place: Any = field(default_factory=lambda: SimpleNamespace(name="s1-sender", host="h1", log="agent.log"))

    def exit_code(self) -> int | None:
        return self.ended


def heard(agent: Any, *answers: tuple[float, bool]) -> None:
    so_far = Heard()
    for now_s, answered in answers:
        so_far.note([agent], [{"state": "running"} if answered else {}], now_s)


def test_one_that_hangs_is_told_of() -> None:
    hanging = One()
    with raises(RunFailed, "agent.silent", agent="s1-sender on h1", seconds=10.0):
        heard(hanging, (1.0, True), (2.0, False), (1.0 + SILENT_S, False))


def test_one_that_is_held_up_is_not() -> None:
    heard(One(), (1.0, True), (SILENT_S, False), (SILENT_S + 0.5, True), (SILENT_S + 2, False))


def test_one_that_has_ended_is_not() -> None:
    heard(One(ended=0), (1.0, True), (2.0, False), (100.0, False))


def test_a_transfer_stalls_when_nothing_more_arrives() -> None:
    so_far = Heard()
    assert not so_far.stalled([{"bytes": 0}], 0.0)
    assert not so_far.stalled([{"bytes": 1}, {}], 4.0)
    assert not so_far.stalled([{"bytes": 1}], 4.0 + STALLED_S - 0.5)
    assert so_far.stalled([{"bytes": 1}], 4.0 + STALLED_S)
    assert not so_far.stalled([{"bytes": 2}], 4.0 + STALLED_S + 1)
