"""Results of the nodes' agents, in the form that checks, tables and reports read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testbed.plan.model import Plan


def as_session_results(plan: Plan, by_host: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Results by file name without suffix, from those of the agents by host.

    The consumer is the session's receiver and the producer its sender; every result keeps what its agent said, with
    its own word for its part as ``node_role``. The first forwarder's figures are those of its face to the consumer,
    where the bottleneck is: ``backlog_max_bytes``, ``forwarder_drops``.
    """
    session = plan["sessions"][0]["name"]
    found: dict[str, dict[str, Any]] = {}
    for place, node in enumerate(plan["ndn"]["nodes"]):
        if (result := by_host.get(node["host"])) is None:
            continue
        own = {**result, "session": session, "node_role": result["role"]}
        if node["role"] == "consumer":
            found[f"{session}-receiver"] = own | {"role": "receiver"}
        elif node["role"] == "producer":
            found[f"{session}-sender"] = own | {"role": "sender"}
        else:
            figures = _at_the_bottleneck(node, result) if place == 1 else {}
            found[f"{session}-{node['host']}"] = own | {"figures": figures}
    return found


def _at_the_bottleneck(node: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, float]:
    name = node["faces"][0]["name"]
    face = next((face for face in result.get("faces", []) if face["name"] == name), None)
    if face is None:
        return {}
    return {"backlog_max_bytes": float(face["backlog_max_bytes"]), "forwarder_drops": float(face["drops"])}
