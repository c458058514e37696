"""Samples of iperf3's flows: goodput at its server, and the whole flow by its client's JSON."""

import re
from collections.abc import Mapping
from typing import Any

from testbed.points import Point, point

_INTERVAL = re.compile(r"\]\s+[\d.]+-[\d.]+\s+sec\s+[\d.]+ \w+\s+([\d.]+) Kbits/sec\s*$")


class Iperf3Flow:
    """Makes the points ``iperf3`` of one flow of the plan's ``cross_traffic``."""

    def __init__(self, plan: Mapping[str, Any], flow: Mapping[str, Any]) -> None:
        self._tags = {
            "run": plan["run"],
            "scenario": plan["scenario"],
            "flow": str(flow["number"]),
            "congestion_control": flow["congestion_control"],
        }

    def interval(self, line: str, time_ns: int) -> Point | None:
        """The point of a line of the server's (``--format k``), None where the line tells no interval.

        Its JSON comes at the end only: before version 3.17 there is no other way to see a flow while it runs.
        """
        found = _INTERVAL.search(line)
        return self.goodput(float(found[1]) * 1000, time_ns) if found else None

    def goodput(self, bps: float, time_ns: int) -> Point:
        """The point of an interval that ended at a time (Unix nanoseconds)."""
        return self._point({"goodput_bps": bps}, time_ns)

    def whole(self, said: Mapping[str, Any], time_ns: int) -> Point | None:
        """The point of a whole flow from the client's JSON, None where iperf3 measured nothing."""
        end = said.get("end") or {}
        sent, received = end.get("sum_sent"), end.get("sum_received")
        if not sent or not received:
            return None
        fields = {
            "mean_goodput_bps": float(received["bits_per_second"]),
            "sent_bytes": int(sent["bytes"]),
            "received_bytes": int(received["bytes"]),
            "resent": int(sent["retransmits"]),
        }
        return self._point(fields, time_ns)

    def _point(self, fields: Mapping[str, float | int], time_ns: int) -> Point:
        return point("iperf3", self._tags, fields, time_ns)
