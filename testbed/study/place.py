"""Where in a study's result folder its runs are."""

from __future__ import annotations

from pathlib import Path

from testbed.errors import BadInput

CELLS = "cells"


def folder_of(*key: str) -> Path:
    """Where the runs of the cell with such a key go, in the study's result folder."""
    place = Path(CELLS, *key)
    if place.parts[0] != CELLS or ".." in place.parts or len(place.parts) != len(key) + 1:
        raise BadInput(
            "result.no-cell", "{key!r} names no cell: each part of it is the name of a folder", key=" ".join(key)
        )
    return place
