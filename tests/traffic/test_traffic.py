"""What is sent, behind one type; and the one loop that watches it."""

from functools import partial
from pathlib import Path
from typing import Any

from testbed import traffic
from testbed.errors import BadInput, RunFailed
from testbed.message import Message
from testbed.plan.traffic_types import TRAFFIC, sent_by, traffic_of
from testbed.runtime.parts import watch_until
from testbed.runtime.progress import Step
from tests.raises import raises


def test_each_has_a_file_of_its_name() -> None:
    for name in TRAFFIC:
        plan: Any = {"sessions": [{"carrier": name}]}
        found = traffic.of(plan)
        assert found.__module__ == f"testbed.traffic.{name}"
        assert issubclass(found, traffic.Traffic)
    others = {"__init__", "__pycache__", "traffic"}
    others |= {"pcap"}  # what several of them capture
    assert {path.stem for path in Path(traffic.__file__).parent.iterdir()} - others == set(TRAFFIC)


def test_what_takes_ncps_place_is_planned_as_ncp_is() -> None:
    plan: Any = {"traffic": "ncp", "sessions": [{"carrier": "mptcp"}]}
    assert traffic_of(plan).windows
    assert not sent_by(plan).windows
    before: Any = {"sessions": [{}]}
    assert sent_by(before).name == "ncp", "in plans from when there was no other"
    with raises(BadInput, "traffic.unknown", name="quic", guess=" (known: ncp, tcp, ndn, program, mptcp)"):
        traffic.of(before | {"traffic": "quic"})


def _said(failure: Message | None) -> Message | None:
    return failure


class Looked:
    """A transfer that is over when it has been looked at so often."""

    def __init__(self, times: int) -> None:
        self.left, self.told = times, 0

    def look(self) -> None:
        self.left -= 1

    def tell(self) -> None:
        self.told += 1

    def watch(self, *failures: Message | None, limit_s: float = 600.0) -> None:
        watch_until(
            lambda: self.left <= 0,
            Step("transfer"),
            look=self.look,
            failures=[partial(_said, said) for said in failures],
            limit_s=limit_s,
            too_long=lambda: Message("test.too-long", "it takes too long"),
            tell=self.tell,
            every_s=0.0,
        )


def test_it_is_watched_until_it_is_over() -> None:
    looked = Looked(3)
    looked.watch(None, None)
    assert (looked.left, looked.told) == (0, 3)


def test_a_part_that_fails_ends_it() -> None:
    looked = Looked(3)
    with raises(RunFailed, "test.ended"):
        looked.watch(None, Message("test.ended", "the middle ended"))
    assert (looked.left, looked.told) == (2, 0)


def test_what_takes_too_long_is_given_up() -> None:
    looked = Looked(3)
    with raises(RunFailed, "test.too-long"):
        looked.watch(limit_s=-1.0)
    assert looked.told == 0


def test_what_is_over_is_not_looked_at() -> None:
    looked = Looked(0)
    looked.watch(Message("test.ended", "whatever became of the parts since"))
    assert looked.told == 0
