"""Tables that are alike agree; one that is shifted, lacks a cell, or tells nothing does not."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.agree import main

VALUES = (1.00, 1.01, 1.02, 0.99, 1.00, 1.01)


def table(values: Sequence[float], column: str = "nkp24") -> dict[str, Any]:
    spread = {"n": len(values), "median": None, "low": None, "high": None, "values": list(values)}
    outcomes = [{"host": "m1"}, {"host": "m2"}]
    return {"rows": [{"name": "7", "cells": {"goodput_mib_s": {column: spread}}}], "outcomes": outcomes}


@pytest.mark.parametrize(
    ("other", "code"),
    [
        (table(VALUES), 0),
        (table([value + 0.005 for value in VALUES]), 0),
        (table([value + 0.04 for value in VALUES]), 1),  # no value of one is among the other's
        (table([0.5, 0.6, 1.1, 1.1, 1.5, 1.5]), 1),  # they overlap, and are far from each other all the same
        (table(VALUES[:2]), 1),
        (table([]), 1),
        (table(VALUES, "previous"), 1),
    ],
)
def test_of_a_cell(tmp_path: Path, other: dict[str, Any], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    for name, document in (("one", table(VALUES)), ("other", other)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table.json").write_text(json.dumps(document))
    assert main(tmp_path / "one", tmp_path / "other") == code
    said = capsys.readouterr().out
    assert ("DISAGREE" in said) == bool(code)
    assert "runs by host: m1 1, m2 1" in said
