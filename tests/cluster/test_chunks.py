"""Which cells a worker gets."""

from typing import cast

import pytest

pytest.importorskip("distributed", reason="distributed is not installed: requirements-cluster.lock has it")

from testbed.cluster.ceiling import Stubs
from testbed.cluster.executor import OnCluster, Worker, _Making


def making(cells: int, *names: str) -> tuple["_Making[int, int]", list[Worker]]:
    """With workers that are fit."""
    nowhere = cast(OnCluster, None)  # nobody is asked for anything
    made = _Making(nowhere, Stubs(), range(cells), lambda *_: None, lambda *_: None)
    workers = [Worker(name, f"tls://{name}", 1, False, "fit") for name in names]
    made.workers = {worker.address: worker for worker in workers}
    return made, workers


def test_what_came_to_nothing_on_a_host_goes_to_another() -> None:
    made, (one, two) = making(3, "one", "two")
    made.lost_with = {0: ["one"]}
    assert made._chunk(one) == [1]
    assert made._chunk(two) == [0]
    assert made._chunk(one) == [2]
    assert made._chunk(one) == []


def test_where_there_is_no_other_it_is_tried_there_again() -> None:
    made, (one, two) = making(1, "one", "two")
    made.lost_with = {0: ["one"]}
    two.state = "refused"
    assert made._chunk(one) == [0]


def test_one_that_was_lost_goes_alone() -> None:
    made, (one,) = making(12, "one")
    made.run_s, made.lost_with = 0.25, {0: ["another"], 3: ["another"]}
    assert made._chunk(one) == [0]
    assert made._chunk(one) == [1, 2]
    assert made._chunk(one) == [3]
    assert made._chunk(one) == [4, 5, 6, 7]
