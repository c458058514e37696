"""The rate at a host's egress while it changes: no more and no less than was asked for, however often."""

from collections.abc import Callable
from typing import Any

import pytest


def test_ramps_send_what_their_rates_add_up_to(measured_by: Callable[[str], Any]) -> None:
    said = measured_by("tests.netem.ramps")
    assert said["found"]["received"] == said["found"]["sent"], "a queue at a host drops nothing"
    window = said["found"]["windows"][0]  # a whole number of ramps
    assert window["packets"] / window["seconds"] == pytest.approx(said["asked_pps"], rel=0.01)
