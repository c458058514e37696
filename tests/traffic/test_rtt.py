"""What pings beside a program say of its links."""

from __future__ import annotations

from typing import Any

from testbed.traffic.program.captured import medians_ms


def point(connection: int, rtt_ms: float) -> dict[str, Any]:
    return {"tags": {"connection": str(connection)}, "fields": {"rtt_ms": rtt_ms}}


def test_connections_that_share_a_link_have_one_median() -> None:
    session: Any = {"connections": [{"index": n, "link": link} for n, link in ((1, "core"), (2, "core"), (3, "own"))]}
    points = [point(1, 10.0), point(1, 20.0), point(2, 90.0), point(3, 5.0)]
    assert medians_ms(points, session) == {"core": 20.0, "own": 5.0}


def test_a_link_without_answers_has_none() -> None:
    session: Any = {"connections": [{"index": 1, "link": "core"}, {"index": 2, "link": "silent"}]}
    assert medians_ms([point(1, 10.0)], session) == {"core": 10.0}
