"""The picture of docs/results/buffers.md is that of its data, and the data are what the simulator gives."""

import csv

import pytest

from tests.compare import queue_sizes


def test_the_picture_is_that_of_the_data() -> None:
    assert queue_sizes.PICTURE.read_text(encoding="utf-8") == queue_sizes.picture()


@pytest.mark.parametrize(("row", "policy"), [("100-drops", "previous"), ("1000-drops", "nkp24")])
def test_a_packet_more_of_queue_gives_what_is_recorded(row: str, policy: str) -> None:
    with (queue_sizes.DATA / "shifted.csv").open(newline="") as file:
        (recorded,) = (
            one["goodput_mib_s"]
            for one in csv.DictReader(file)
            if (one["row"], one["policy"], one["shift"]) == (row, policy, "1")
        )
    assert f"{queue_sizes.simulated(row, policy, 1):.4f}" == recorded
