"""The colours of all pictures. A page replaces them by its reader's (``testbed.results.report.style.for_page``)."""

from __future__ import annotations

PAPER, INK, MUTED, GRID, SHADE = "#ffffff", "#1f2328", "#59636e", "#d8dee4", "#eef1f4"
