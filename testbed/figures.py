"""Figures by their names: ``throughput_mbps`` says what it is and in which unit."""

from __future__ import annotations

import re

_UNITS = {
    "_mib_s": "MiB/s", "_mbps": "Mbit/s", "_bps": "bit/s", "_pps": "packets/s", "_bytes": "bytes",
    "_packets": "packets", "_segments": "segments", "_percent": "%", "_ms": "ms", "_us": "µs", "_s": "s",
}  # fmt: skip
"""By the end of the name, longer ends first where one is another's."""

GOODPUT = "goodput_mib_s"
"""What a table is about that says nothing else."""


def unit_of(figure: str) -> str:
    """The unit in a figure's name; "" for counts and shares."""
    return next((unit for end, unit in _UNITS.items() if figure.endswith(end)), "")


def title_of(figure: str) -> str:
    """The name in words, without the unit: ``Goodput``."""
    end = next((end for end in _UNITS if figure.endswith(end)), "")
    words = figure.removesuffix(end).replace("_", " ").replace(".", ": ")
    return re.sub(r"^rtt\b", "RTT", words[:1].upper() + words[1:], flags=re.IGNORECASE)


def with_unit(figure: str) -> str:
    """``Goodput, MiB/s``."""
    unit = unit_of(figure)
    return f"{title_of(figure)}, {unit}" if unit else title_of(figure)
