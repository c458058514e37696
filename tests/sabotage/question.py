"""What the laboratory asks of a scenario beyond its own checks: a table over it, and claims that both decide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from testbed.scenario.load import document_of, plain

TABLE = "sabotage-table"
GOODPUT_MIB_S = {
    "lab-startup": 1.114,
    "previous": 0.3305,
    "slowed": 1.692,
    "blackhole": 1.685,
    "two-paths": 0.983,
    "late-comer": 0.2779,
}
"""Stands for what somebody else measured: what the honest simulator gives, to 2%."""
_OF_A_SCENARIO = ("name", "title", "source", "description", "quick", "repeat")


def write(scenario: Path, folder: Path) -> None:
    """``sabotage-table.yaml``, ``claims.yaml`` and ``known.csv`` about a scenario."""
    _, document, _ = document_of(str(scenario), [], quick=False)
    asked = plain(document)
    name = str(asked["name"])
    _keep(folder / f"{TABLE}.yaml", _table(name, asked, folder))
    _keep(folder / "claims.yaml", _claims(scenario, asked))
    (folder / "known.csv").write_text(f"row,mib_s\nas-is,{GOODPUT_MIB_S[name]}\n")


def _table(name: str, asked: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {
        "name": TABLE,
        "title": f"{name}, as a table",
        "repeat": 3,
        "cells": {key: value for key, value in asked.items() if key not in _OF_A_SCENARIO},
        "rows": [{"name": "as-is"}],
        "columns": [{"name": "as-is"}],
        "known": [{"name": "others", "file": str(folder / "known.csv"), "columns": {"as-is": "mib_s"}}],
        "checks": [
            {"name": "near the bound", "judge": "bound", "columns": ["as-is"], "min": 0.25, "max": 1.0},
            {"name": "as others measured", "judge": "known", "columns": ["as-is"], "tolerance": "2%"},
        ],
    }


def _claims(scenario: Path, asked: dict[str, Any]) -> dict[str, Any]:
    numbers = [c["name"] for c in asked["checks"] if c["judge"] not in ("payload_intact", "points_stored")]
    words = {
        "source": "lab",
        "setup": "lab",
        "kind": "claim",
        "text": "It is so.",
        "expected": "as asked",
        "why": "a laboratory",
    }
    claims: dict[str, Any] = {
        f"claim-{place}": {**words, "run": "scenario", "check": name} for place, name in enumerate(numbers, start=1)
    }
    for name in ("near the bound", "as others measured"):
        claims[name.replace(" ", "-")] = {**words, "run": "table", "check": name}
    run = {"minutes": 1, "disk_mb": 1, "quick": {"minutes": 1}}
    return {
        "sources": {"lab": {"title": "t", "by": "b", "where": "w"}},
        "setups": {"lab": {"source": "lab", "text": "As the scenario has it.", "given": {"links.0.loss": 0}}},
        "runs": {"scenario": {"run": scenario.stem, "repeat": 3, **run}, "table": {"run": TABLE, **run}},
        "claims": claims,
    }


def _keep(file: Path, document: dict[str, Any]) -> None:
    with file.open("w", encoding="utf-8") as out:
        YAML().dump(document, out)
