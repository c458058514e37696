"""A link's properties as options of ``tc``: netem for the line, HTB and a child for the rate and its queue.

Where the kernel's meaning differs from that of ``link/model`` it says so here. Standard library only.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

from topologies.link import Link

DIRECTIONS = ("ab", "ba")

SHARES = ("loss", "reorder", "duplicate", "corrupt")
FIXED = ("jitter", "jitter_file", "jitter_reorders", "trace_file", "queue_mode")
"""Properties that a live link keeps: netem can't go back from a table of jitter to none, for one."""

ORDER_KEEPING_RATE = "10tbit"
"""With a rate, netem counts a frame's delay from the departure of the frame before it where that is later, so
nothing overtakes; at this one a frame takes no time of its own."""

TABLE_SAMPLES = 16000
"""Entries of a table of jitter that netem takes (``NETEM_DIST_MAX`` is 16384, and ``tc`` needs room beside it)."""
NORMAL_QUANTILES = 4096
TABLE_UNIT = 8192
"""A table's entry for one ``jitter`` (``NETEM_DIST_SCALE``); entries are 16 bits, so they end at 4 of them."""
TABLE_MAX = 32767
JITTER_MAX_MS = (2**31 - 1) / 1e6
"""netem holds jitter as a signed 32-bit number of nanoseconds."""


@dataclass(frozen=True)
class Properties:
    """What is in force for one direction of a link; names and units as in ``link/model``."""

    rate_bps: float
    burst_bytes: int
    frame_bytes: int
    queue_mode: str
    queue_packets: int
    delay_ms: float
    jitter_ms: float = 0.0
    jitter: str = "uniform"
    jitter_file: str = ""
    jitter_reorders: bool = False
    loss: float = 0.0
    gilbert_elliott: Mapping[str, float] | None = field(default=None)
    reorder: float = 0.0
    duplicate: float = 0.0
    corrupt: float = 0.0

    @classmethod
    def of(cls, link: Link) -> Properties:
        """Those that a link has at first, the same in both directions."""
        own = {f.name for f in fields(cls)}
        values: dict[str, Any] = {name: value for name, value in link.items() if name in own}
        return cls(queue_mode=link["queue"]["mode"], queue_packets=link["queue"]["packets"], **values)

    def changed(self, change: Mapping[str, Any]) -> Properties:
        """After a change; of ``loss`` and ``gilbert_elliott`` the one given replaces the other.

        Raises :class:`ValueError` with the property's name.
        """
        changeable = {f.name for f in fields(self)} - {*FIXED, "frame_bytes"}
        for name, value in change.items():
            if name in FIXED:
                raise ValueError(f"{name}: netem can't change it on a live link; use --link relay")
            if name not in changeable:
                raise ValueError(f"{name}: no such property, want some of {', '.join(sorted(changeable))}")
            _check(name, value)
        after = dict(change)
        if "gilbert_elliott" in change:
            after["loss"] = 0.0
        elif "loss" in change:
            after["gilbert_elliott"] = None
        return replace(self, **after)


def _check(name: str, value: Any) -> None:
    if name == "gilbert_elliott":
        for key, share in value.items():
            if key not in ("enter", "leave", "loss_good", "loss_bad"):
                raise ValueError(f"gilbert_elliott.{key}: want enter, leave, loss_good, loss_bad")
            if not 0 <= share <= 1:
                raise ValueError(f"gilbert_elliott.{key}: {share}, want a fraction from 0 to 1")
    elif name in SHARES:
        if not 0 <= value <= 1:
            raise ValueError(f"{name}: {value}, want a fraction from 0 to 1")
    elif name in ("rate_bps", "queue_packets"):
        if not value > 0:
            raise ValueError(f"{name}: {value}, want more than 0")
    elif not 0 <= value < math.inf:
        raise ValueError(f"{name}: {value}, want 0 or more")


def netem(p: Properties, *, seed: int | None = None) -> list[str]:
    """All of netem's options, since a change keeps those that are not named.

    Loss by two states is drawn before the state moves, ``link/model`` does it after: the same process one
    frame apart. A duplicate draws a delay and a loss of its own. A corrupt bit may lie in the Ethernet header,
    and then nobody takes the frame.
    """
    jitter_ms = jitter_option_ms(p)
    name = table_name(p) if jitter_ms else ""
    delay_us = p.delay_ms * 1000
    if jitter_ms or p.reorder:
        delay_us = max(delay_us, 1.0)  # tc refuses a distribution, or reordering, without a delay
    return [
        "netem",
        "limit",
        str(limit_packets(p)),
        "delay",
        f"{delay_us:.3f}us",
        f"{jitter_ms * 1000:.3f}us",
        *(["distribution", name] if name else []),
        *_loss(p),
        "duplicate",
        percent(p.duplicate),
        "corrupt",
        percent(p.corrupt),
        "reorder",
        percent(p.reorder),
        "rate",
        "0" if p.jitter_reorders else ORDER_KEEPING_RATE,
        *([] if seed is None else ["seed", str(seed)]),
    ]


def _loss(p: Properties) -> list[str]:
    g = p.gilbert_elliott
    if g is None:
        return ["loss", percent(p.loss)]
    shares = (g["enter"], g["leave"], g.get("loss_bad", 1.0), g.get("loss_good", 0.0))
    return ["loss", "gemodel", *(percent(share) for share in shares)]


def percent(share: float) -> str:
    """A fraction as ``tc`` reads it, as fine as netem's 32 bits."""
    return f"{share * 100:.9f}%"


def limit_packets(p: Properties) -> int:
    """Packets that netem may hold: what the delay keeps in it, with small packets in mind, four times over.
    Its default of 1000 drops silently."""
    smallest_frame_bytes = 64
    seconds = (p.delay_ms + 4 * p.jitter_ms) / 1000
    return max(1000, math.ceil(4 * p.rate_bps / 8 / smallest_frame_bytes * seconds))


def queue(p: Properties) -> list[str]:
    """What waits for the rate."""
    limit = ["limit", str(p.queue_packets)]
    match p.queue_mode:
        case "droptail":
            return ["pfifo", *limit]
        case "drophead":
            return ["pfifo_head_drop", *limit]
        case "codel":
            return ["codel", *limit, "target", "5ms", "interval", "100ms"]  # RFC 8289 section 4.4
    raise ValueError(f"queue mode {p.queue_mode!r}: want droptail, drophead or codel in the middle of a link")


def seed_of(link: Link, direction: str, changes: int) -> int:
    """A direction's own seed. netem starts anew with each change, so each change has its own as well."""
    text = f"{link['seed']}:{link['name']}:{direction}:{changes}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def read_samples_ms(path: Path) -> list[float]:
    """Jitter samples, a number of milliseconds per line; raises :class:`ValueError` or :class:`OSError`."""
    samples = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            samples.append(float(line))
        except ValueError:
            raise ValueError(f"{path}: line {number}: {line.strip()!r}, want milliseconds") from None
        if not math.isfinite(samples[-1]):
            raise ValueError(f"{path}: line {number}: {line.strip()!r}, want milliseconds")
    if not samples:
        raise ValueError(f"{path}: no sample, want milliseconds, one per line")
    return samples


def jitter_option_ms(p: Properties) -> float:
    """netem's jitter: half-width of uniform, standard deviation of normal; with samples, such that the largest
    is the largest entry of their table."""
    if p.jitter != "samples":
        return p.jitter_ms
    return max(abs(sample) for sample in read_samples_ms(Path(p.jitter_file))) * TABLE_UNIT / TABLE_MAX


def table_name(p: Properties) -> str:
    """What the table of the jitter's distribution is called; empty for uniform, which netem has without."""
    if p.jitter == "samples":
        return "samples-" + hashlib.sha256(p.jitter_file.encode()).hexdigest()[:16]
    return "" if p.jitter == "uniform" else p.jitter


def table(p: Properties) -> str:
    """The distribution as a file of ``tc`` (``NAME.dist``): entries that netem draws from with replacement.

    The normal distribution by its quantiles, as far as 16 bits go, which is 4 standard deviations.
    """
    if p.jitter == "samples":
        unit_ms = jitter_option_ms(p)
        multiples = [s / unit_ms if unit_ms else 0.0 for s in read_samples_ms(Path(p.jitter_file))]
    else:
        quantile = NormalDist().inv_cdf
        multiples = [quantile((i + 0.5) / NORMAL_QUANTILES) for i in range(NORMAL_QUANTILES)]
    entries = (max(-TABLE_MAX, min(TABLE_MAX, round(multiple * TABLE_UNIT))) for multiple in multiples)
    return "\n".join(map(str, entries)) + "\n"
