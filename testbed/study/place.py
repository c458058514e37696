"""Where in a study's result folder its runs are."""

from __future__ import annotations

from pathlib import Path

CELLS = "cells"


def folder_of(*key: str) -> Path:
    """Where the runs of the cell with such a key go, in the study's result folder."""
    return Path(CELLS, *key)
