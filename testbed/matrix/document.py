"""``table.json`` of earlier tables, as one of today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testbed.figures import GOODPUT


def current(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A ``table.json`` of schema 1, which knew goodput in MiB/s only, as one of today."""
    if document["schema"] != 1:
        return document
    rows = [
        {key: value for key, value in row.items() if key != "bound_mib_s"}
        | {
            "bounds": {GOODPUT: row["bound_mib_s"]},
            "cells": {GOODPUT: row["cells"]},
            "known": [{**known, "figure": GOODPUT} for known in row["known"]],
        }
        for row in document["rows"]
    ]
    outcomes = [
        {**found, "figures": {} if found["goodput_mib_s"] is None else {GOODPUT: found["goodput_mib_s"]}}
        for found in document["outcomes"]
    ]
    return {**document, "schema": 2, "figures": [GOODPUT], "rows": rows, "outcomes": outcomes}
