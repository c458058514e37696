"""The topology of a plan as a picture: one rule for where things are, and a writer for each form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from testbed.interchange.graph.drawing import Drawing, draw
from testbed.interchange.graph.writers import to_drawio, to_mermaid, to_svg

__all__ = ["FORMATS", "Drawing", "draw"]

FORMATS: Mapping[str, Callable[[Drawing], str]] = {"svg": to_svg, "mermaid": to_mermaid, "drawio": to_drawio}
"""Writers of drawings, by their names in ``./run.sh graph --format``."""
