"""What a calibration leaves in the database."""

from typing import Any

import pytest
from line_protocol_parser import parse_line

from testbed.engines.emulation.calibration import LinkReading, lines

PLAN: Any = {
    "run": "20261121-035200-3f9a",
    "scenario": "startup",
    "sessions": [{"policy": "nkp24"}],
    "limits": {"rate_error": 0.02, "delay_error_ms": 1.0},
}


def reading(**changes: Any) -> LinkReading:
    fields = {
        "link": "fast",
        "direction": "ab",
        "rate_bps_asked": 1e6,
        "rate_bps": 1e6,
        "delay_ms_asked": 50.0,
        "delay_ms": 50.0,
        "delay_p99_ms": 50.1,
        "loss_asked": 0.0,
        "loss": 0.0,
        "sent": 100,
        "received": 100,
    }
    return LinkReading(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "of_limit"),
    [({}, 0.0), ({"rate_bps": 0.97e6}, 1.5), ({"delay_ms": 47.0}, 3.0), ({"delay_ms": 50.5, "rate_bps": 1.03e6}, 1.5)],
)
def test_the_larger_error_is_told_in_parts_of_its_limit(changes, of_limit):
    (line,) = lines(PLAN, [reading(**changes)], 17)
    point = parse_line(line)
    assert point["fields"]["of_limit"] == pytest.approx(of_limit)
    assert point["tags"] == {
        "run": PLAN["run"],
        "scenario": "startup",
        "policy": "nkp24",
        "link": "fast",
        "direction": "ab",
    }
    assert point["time"] == 17


def test_where_nothing_is_allowed_any_error_is_many_limits():
    plan: Any = {**PLAN, "limits": {"rate_error": 0.0, "delay_error_ms": 0.0}}
    exact, off = (parse_line(line) for line in lines(plan, [reading(), reading(link="slow", delay_ms=50.1)], 17))
    assert exact["fields"]["of_limit"] == 0
    assert off["fields"]["of_limit"] == 1e6
