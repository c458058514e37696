"""Figures by their names: ``throughput_mbps`` says what it is and in which unit."""

from collections.abc import Mapping, Sequence
from typing import Any

from testbed.judge.checks.result import rounded

UNITS = {
    "_mib_s": "MiB/s",
    "_mbps": "Mbit/s",
    "_bps": "bit/s",
    "_pps": "packets/s",
    "_bytes": "bytes",
    "_packets": "packets",
    "_segments": "segments",
    "_percent": "%",
    "_ms": "ms",
    "_us": "µs",
    "_s": "s",
}
"""Units by the end of a figure's name, longer ends before those that they end in."""

GOODPUT = "goodput_mib_s"
"""The default figure of a table."""

_WORDS = {"rtt": "RTT", "rtts": "round trips", "ncp": "NCP", "tcp": "TCP"}
"""Parts of names that are written differently."""

_TITLES = {
    "of_optimum": "Goodput in parts of the optimum",
    "reused": "A path that came back is in use after",
    "reorder": "Waited at the receiver for earlier data, at most",
    "rtt_of_base": "RTT in parts of that without a queue",
    "rival_share": "What a rival keeps of an even share",
}
"""Labels of figures whose names without unit say too little."""


def unit_of(figure: str) -> str:
    """The unit in a figure's name; "" for counts and shares."""
    return next((unit for end, unit in UNITS.items() if figure.endswith(end)), "")


def title_of(figure: str) -> str:
    """The name in words, without the unit: ``Goodput``; of a session with a name, ``bulk: Goodput``."""
    session, _, name = figure.rpartition(".")
    end = next((end for end in UNITS if name.endswith(end)), "")
    bare = name.removesuffix(end)
    words = " ".join(_WORDS.get(word, word) for word in bare.split("_"))
    title = _TITLES.get(bare) or words[:1].upper() + words[1:]
    return f"{session}: {title}" if session else title


def with_unit(figure: str) -> str:
    """``Goodput, MiB/s``."""
    unit = unit_of(figure)
    return f"{title_of(figure)}, {unit}" if unit else title_of(figure)


def figures_of(results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """A run's figures by name, with the unit in it, from the agents' ``result.json`` documents.

    A receiver's goodput is ``goodput_bps`` and ``goodput_mib_s`` (payload, 2^20 bytes/s); other traffic brings its
    own figures under ``figures``. Where there are several sessions, those after the first have their name and a dot
    before the figure's.
    """
    sessions = [str(result.get("session", "")) for result in results]
    found: dict[str, float] = {}
    for session, result in zip(sessions, results, strict=True):
        figures: dict[str, float] = {}
        if result.get("role") == "receiver" and (goodput_bps := result.get("goodput_bps")):
            figures = {"goodput_bps": goodput_bps, "goodput_mib_s": float(goodput_bps) / 8 / 2**20}
        for name, value in (figures | result.get("figures", {})).items():
            found[name if session == min(sessions) else f"{session}.{name}"] = rounded(value)
    return found
