"""Which cells a worker gets."""

from testbed.errors import RunFailed
from testbed.study.cluster.waiting import AHEAD, Waiting
from tests.raises import raises

ONE, BOTH = {"one": 1}, {"one": 1, "two": 1}


def waiting(cells: int, *, exact: bool = True) -> Waiting[int]:
    return Waiting(range(cells), str, exact=exact)


def test_what_came_to_nothing_on_a_host_goes_to_another() -> None:
    cells = waiting(3)
    cells.came_to_nothing(0, "one", "")
    assert cells.chunk("one", BOTH) == [1]
    assert cells.chunk("two", BOTH) == [0]
    assert cells.chunk("one", BOTH) == [2]
    assert cells.chunk("one", BOTH) == []
    assert not cells


def test_where_there_is_no_other_it_is_tried_there_again() -> None:
    cells = waiting(1)
    cells.came_to_nothing(0, "one", "")
    assert cells.chunk("one", ONE) == [0]


def test_one_that_came_to_nothing_goes_alone() -> None:
    cells = waiting(12)
    cells.took(0.25)
    for key in (0, 3):
        cells.came_to_nothing(key, "another", "")
    assert cells.chunk("one", ONE) == [0]
    assert cells.chunk("one", ONE) == [1, 2]
    assert cells.chunk("one", ONE) == [3]
    assert cells.chunk("one", ONE) == [4, 5, 6, 7]


def test_what_has_come_to_nothing_three_times_ends_the_study() -> None:
    cells = waiting(2)
    cells.came_to_nothing(1, "one", "")
    cells.came_to_nothing(1, "two", "")
    with raises(RunFailed, "cluster.gave-up", name="1", times=3, hosts="one, two, one", why="its worker was lost"):
        cells.came_to_nothing(1, "one", "its worker was lost")


def test_what_is_lost_is_made_first_and_in_order() -> None:
    cells = waiting(6)
    cells.took(0.5)
    assert cells.chunk("one", ONE) == [0, 1]
    cells.again([0, 1])
    assert [cells.chunk("two", BOTH) for _ in range(6)] == [[0], [1], [2], [3], [4], [5]]


def test_short_runs_are_at_hand_before_they_are_needed() -> None:
    cells = waiting(9)
    assert cells.window(4) == 4  # nothing is known of them
    cells.took(0.5)
    assert cells.window(4) == 4 * AHEAD
    assert waiting(9, exact=False).window(4) == 1
