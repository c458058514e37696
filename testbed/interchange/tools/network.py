"""Common parts of other tools' topologies: nodes, and links between two of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from topologies.units import UnitError, parse_delay_ms, parse_fraction, parse_rate


@dataclass
class FoundLink:
    """A link, with a scenario's keys and values as they are written there; None: it has no name."""

    name: str | None
    a: str
    b: str
    does: dict[str, str] = field(default_factory=dict)


@dataclass
class Network:
    """A topology as it was found; ``lost`` has a line for each thing that no scenario can hold."""

    name: str
    links: list[FoundLink] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def mapping(value: Any) -> dict[str, Any]:
    """A value of another tool's file where a mapping is expected; empty where it is none."""
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else {}


def netem(requested: Mapping[str, Any], where: str, lost: list[str]) -> dict[str, str]:
    """A scenario's keys of a link from netem's words (shares in percent, a rate in kbit/s or with its unit)."""
    found: dict[str, str] = {}
    for word, value in requested.items():
        key = {"corruption": "corrupt"}.get(word, word)
        text = str(value).strip()
        number = re.fullmatch(r"\d+(\.\d*)?", text)
        try:
            if key in ("delay", "jitter"):
                ms = parse_delay_ms(f"{text}ms" if number else text)
                found |= {key: f"{ms:g}ms"} if ms else {}
            elif key == "rate":
                bps = parse_rate(f"{text}kbit" if number else text).bps if not number or float(text) else None
                found |= {key: bits(bps)} if bps else {}
            elif key in ("loss", "corrupt", "duplicate", "reorder"):
                share = parse_fraction(text.removesuffix("%") + "%")
                found |= {key: f"{share * 100:g}%"} if share else {}
            else:
                lost.append(f"{where}: {word} {text}")
        except UnitError as error:
            lost.append(f"{where}: {word}: {error}")
    return found


def bits(bps: float) -> str:
    """A rate as a scenario writes it, exact."""
    for unit, factor in (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)):
        if bps >= factor and (bps / factor * 1000).is_integer():
            return f"{bps / factor:.10g}{unit}"
    return f"{bps:.0f}bit"


def names_of(nodes: Sequence[str], most: int, lost: list[str]) -> dict[str, str]:
    """A name for each node that a scenario and Linux's interfaces can have; new names are reported."""
    found: dict[str, str] = {}
    for node in nodes:
        name = word(node, most)
        found[node] = unique(name if name[:1].isalpha() else f"n{name}"[:most], found.values(), most)
        if found[node] != node:
            lost.append(f"node {node}: its name; it is {found[node]} here")
    return found


def word(text: str, most: int) -> str:
    """A text as a name of small letters, digits and hyphens, no longer than ``most``."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:most].strip("-")


def unique(name: str, taken: Collection[str], most: int, before: str = "") -> str:
    """The name, or where it is taken one with a number at its end, and ``before`` that."""
    ends = ("", *(f"{before}{number}" for number in range(2, len(taken) + 2)))
    return next(one for end in ends if (one := name[: most - len(end)] + end) not in taken)
