"""A run's figures: what it measured, flat and by name, for ``verdict.json``, tables and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from testbed.judge.checks.result import rounded


def figures_of(results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Figures by name, with the unit in it, from the agents' ``result.json`` documents.

    A receiver's goodput is ``goodput_bps`` and ``goodput_mib_s`` (payload, 2^20 bytes/s); other traffic brings its
    own figures under ``figures``. Where there are several sessions, those after the first have their name and a dot
    before the figure's.
    """
    sessions = sorted({str(result.get("session", "")) for result in results})
    found: dict[str, float] = {}
    for result in results:
        session = str(result.get("session", ""))
        prefix = "" if session == sessions[0] else f"{session}."
        for name, value in _figures(result).items():
            found[prefix + name] = rounded(value)
    return found


def _figures(result: Mapping[str, Any]) -> dict[str, float]:
    own: dict[str, float] = dict(result.get("figures", {}))
    if result.get("role") == "receiver" and result.get("goodput_bps"):
        goodput_bps = float(result["goodput_bps"])
        own = {"goodput_bps": goodput_bps, "goodput_mib_s": goodput_bps / 8 / 2**20} | own
    return own
