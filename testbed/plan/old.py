"""Plans of earlier versions, for the readers of today.

Schema 1 has the rate of a link twice, ``rate_bps`` in whole bits per second and ``rate_pps``, and events set whole bits
per second.
"""

from __future__ import annotations

import math
from typing import Any

from testbed.plan.model import SCHEMA, Plan
from topologies.link import rate_pps
from topologies.units import Rate, whole_bps


def current(document: Any) -> Any:
    """A plan of an earlier schema as one of today's; any other document is returned as it is."""
    if not _is_schema_1(document):
        return document
    found = {**document, "schema": SCHEMA}
    if isinstance(links := document.get("links"), list):
        found["links"] = [_with_one_rate(link) for link in links]
    return found


def as_in(recorded: Any, plan: Plan) -> Plan | dict[str, Any]:
    """A plan of today as the recorded document's schema has it, to be compared with that one."""
    if not _is_schema_1(recorded):
        return plan
    links = [{**link, "rate_bps": whole_bps(link["rate_bps"]), "rate_pps": rate_pps(link)} for link in plan["links"]]
    return {**plan, "schema": 1, "links": links, "timeline": [_in_whole_bps(action) for action in plan["timeline"]]}


def _is_schema_1(document: Any) -> bool:
    return isinstance(document, dict) and type(document.get("schema")) is int and document["schema"] == 1


def _with_one_rate(link: Any) -> Any:
    """The link with its rate as it was rounded, if ``rate_pps`` has it."""
    match link:
        case {"rate_bps": int(rounded), "rate_pps": int() | float() as pps, "frame_bytes": int(frame_bytes)}:
            exact = Rate(pps=pps).to_bps(frame_bytes) if math.isfinite(pps) else math.nan
            reported = not math.isclose(exact, rounded, rel_tol=1e-12) and abs(exact - rounded) <= 0.5
            rest = {key: value for key, value in link.items() if key != "rate_pps"}
            return {**rest, "rate_bps": exact if reported else rounded}
    return link


def _in_whole_bps(action: Any) -> Any:
    properties = action.get("properties", {})
    if "rate_bps" not in properties:
        return action
    return {**action, "properties": {**properties, "rate_bps": whole_bps(properties["rate_bps"])}}
