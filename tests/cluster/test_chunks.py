"""Which cells a worker gets."""

import pytest

from testbed.errors import RunFailed
from tests.raises import raises

pytest.importorskip("distributed")
from testbed.study.hosts.dask import AHEAD, TaskQueue

ONE, BOTH = {"one": 1}, {"one": 1, "two": 1}


def queue_of(cells: int, *, exact: bool = True) -> TaskQueue[int]:
    return TaskQueue(range(cells), alone=lambda _: not exact)


def test_what_failed_on_a_host_goes_to_another() -> None:
    cells = queue_of(3)
    cells.failed(0, "one", "")
    assert cells.chunk("one", BOTH) == [1]
    assert cells.chunk("two", BOTH) == [0]
    assert cells.chunk("one", BOTH) == [2]
    assert cells.chunk("one", BOTH) == []
    assert not cells.jobs


def test_where_there_is_no_other_it_is_tried_there_again() -> None:
    cells = queue_of(1)
    cells.failed(0, "one", "")
    assert cells.chunk("one", ONE) == [0]


def test_one_that_failed_goes_alone() -> None:
    cells = queue_of(12)
    cells.took(0.25)
    for key in (0, 3):
        cells.failed(key, "another", "")
    assert cells.chunk("one", ONE) == [0]
    assert cells.chunk("one", ONE) == [1, 2]
    assert cells.chunk("one", ONE) == [3]
    assert cells.chunk("one", ONE) == [4, 5, 6, 7]


def test_what_has_failed_three_times_ends_the_study() -> None:
    cells = queue_of(2)
    cells.failed(1, "one", "")
    cells.failed(1, "two", "")
    with raises(RunFailed, "cluster.gave-up", name="1", times=3, hosts="one, two, one", why="its worker was lost"):
        cells.failed(1, "one", "its worker was lost")


def test_what_is_lost_is_made_first_and_in_order() -> None:
    cells = queue_of(6)
    cells.took(0.5)
    assert cells.chunk("one", ONE) == [0, 1]
    cells.requeue([0, 1])
    assert [cells.chunk("two", BOTH) for _ in range(6)] == [[0], [1], [2], [3], [4], [5]]


def chunks_at_hand(cells: TaskQueue[int]) -> int:
    """How many a host of four cores gets."""
    return next(at_hand for at_hand in range(99) if not cells.chunk("one", {"one": 4}, at_hand))


def test_short_runs_are_at_hand_before_they_are_needed() -> None:
    cells = queue_of(99)
    assert chunks_at_hand(cells) == 4  # nothing is known of them
    cells.took(0.5)
    assert chunks_at_hand(cells) == 4 * AHEAD
    assert chunks_at_hand(queue_of(99, exact=False)) == 1


def test_a_run_that_needs_its_host_alone_is_in_no_chunk() -> None:
    cells = TaskQueue(range(12), alone=lambda number: number == 3)
    cells.took(0.1)
    assert [cells.chunk("one", ONE) for _ in range(3)] == [[0, 1, 2], [3], [4, 5, 6, 7]]
