"""A link's properties as options of ``tc``: netem for the line, HTB and a child for the rate and its queue.

What netem does of each impairment is in ``topologies/impairments``. Standard library only.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from topologies.impairments import FIXED, IMPAIRMENTS, KEYS
from topologies.impairments.impairment import DelayMs, Share, check
from topologies.impairments.loss import with_change
from topologies.link import Link

DIRECTIONS = ("ab", "ba")

LINE: Mapping[str, Any] = {"delay_ms": DelayMs, "loss": Share, **KEYS}
"""Keys of a link's line that can be configured, each with its type."""
POSITIVE = ("rate_bps", "queue_packets")
CHANGEABLE = sorted({*POSITIVE, "burst_bytes", *LINE} - set(FIXED))
KEPT = (*FIXED, "trace_file", "queue_mode")
"""Properties that a live link keeps: netem can't go back from a table of jitter to none, for one."""

ORDER_KEEPING_RATE = "10tbit"
"""A rate that keeps frames in order. With a rate, netem counts a frame's delay from the departure of the
frame before it where that is later, so that nothing overtakes; at this rate a frame takes no time of its own."""


Properties = Mapping[str, Any]
"""The configuration in force for one direction of a link; names and units as in ``internal/linkmodel``."""


def properties_of(link: Link) -> Properties:
    """The initial configuration of a link, the same in both directions."""
    return {**link, "queue_mode": link["queue"]["mode"], "queue_packets": link["queue"]["packets"]}


def changed(before: Properties, change: Mapping[str, Any]) -> Properties:
    """The configuration after a change.

    Raises :class:`ValueError` with the property's name.
    """
    for name, value in change.items():
        if name in KEPT:
            raise ValueError(f"{name}: netem can't change it on a live link; use --link relay")
        if name not in CHANGEABLE:
            raise ValueError(f"{name}: no such property, want some of {', '.join(CHANGEABLE)}")
        _check(name, value)
    return with_change(before, change)


def _check(name: str, value: Any) -> None:
    if name in LINE:
        check(name, LINE[name], value)
    elif name in POSITIVE:
        if not value > 0:
            raise ValueError(f"{name}: {value}, want more than 0")
    elif not 0 <= value < math.inf:
        raise ValueError(f"{name}: {value}, want 0 or more")


def netem(p: Properties, *, seed: int | None = None) -> list[str]:
    """All of netem's options, since a change keeps those that are not named."""
    return [
        "netem",
        "limit",
        str(limit_packets(p)),
        *(word for impairment in IMPAIRMENTS if impairment.netem for word in impairment.netem(p)),
        "rate",
        "0" if p.get("jitter_reorders") else ORDER_KEEPING_RATE,
        *([] if seed is None else ["seed", str(seed)]),
    ]


def limit_packets(p: Properties) -> int:
    """Packets that netem may hold: what the delay keeps in it, with small packets in mind, four times over.
    Its default of 1000 drops silently."""
    smallest_frame_bytes = 64
    seconds = (p["delay_ms"] + 4 * p.get("jitter_ms", 0.0)) / 1000
    kept: int = math.ceil(4 * p["rate_bps"] / 8 / smallest_frame_bytes * seconds)
    return max(1000, kept)


def queue(p: Properties) -> list[str]:
    """The queue for the rate."""
    limit = ["limit", str(p["queue_packets"])]
    match p["queue_mode"]:
        case "droptail":
            return ["pfifo", *limit]
        case "drophead":
            return ["pfifo_head_drop", *limit]
        case "codel":
            return ["codel", *limit, "target", "5ms", "interval", "100ms"]  # RFC 8289 section 4.4
    raise ValueError(f"queue mode {p['queue_mode']!r}: want droptail, drophead or codel in the middle of a link")


def seed_of(link: Link, direction: str, changes: int) -> int:
    """A direction's own seed. netem starts anew with each change, so each change has its own as well."""
    text = f"{link['seed']}:{link['name']}:{direction}:{changes}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
