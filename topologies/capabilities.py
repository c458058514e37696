"""Capabilities of both link emulators: the kernel's features, and the properties that neither takes."""

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from topologies.commands import CommandFailed, run
from topologies.impairments import IMPAIRMENTS, jitter
from topologies.link import Link, rate_pps, shaped_at_hosts

RELAY_FRAMES = 1 << 17
"""Frames that ``ncp-link relay`` can hold, all links together (``internal/relay``, ``poolFrames``)."""


@cache
def has_netem() -> bool:
    """Whether this kernel can be the middle of links: netem, and copying frames from one interface to another."""
    copy = "filter add dev lo ingress matchall action mirred egress mirror dev lo action drop"
    return _tried("qdisc add dev lo root netem delay 1ms", "qdisc add dev lo ingress", copy) is not None


@cache
def kernel_has(qdisc: str) -> bool:
    """Whether this kernel and ``tc`` have a queueing discipline, found by trying it."""
    return _tried(f"qdisc add dev lo root {qdisc}") is not None


@cache
def netem_takes_seed() -> bool:
    """Whether netem's losses can be seeded (iproute2 and kernel from 6.6). A kernel that can't ignores the
    seed, so it is read back."""
    seed = "4711"
    said = _tried(f"qdisc add dev lo root netem loss 1% seed {seed}", "qdisc show dev lo")
    return said is not None and f"seed {seed}" in said


def refusals(links: Sequence[Link], middle: Literal["netem", "relay"]) -> list[str]:
    """Properties of the links that a link emulator can't do, a message each, with the way out; empty: it can do all."""
    unreadable = [f"link {link['name']!r}: jitter file: {error}" for link in links if (error := _unreadable(link))]
    if unreadable or middle == "relay":
        return unreadable or _relay_refusals(links)
    return [
        f"link {link['name']!r}: {reason}; use --link relay for this scenario"
        for link in links
        for reason in _netem_refusals(link)
    ]


def _unreadable(link: Link) -> str | None:
    try:
        if file := link.get("jitter_file"):
            jitter.read_samples_ms(Path(file))
    except (OSError, ValueError) as error:
        return str(error)
    return None


def _netem_refusals(link: Link) -> Iterator[str]:
    if trace := link.get("trace_file"):
        yield f"trace {trace}: netem has constant rates only"
    for impairment in IMPAIRMENTS:
        if impairment.netem:
            yield from impairment.netem_refuses(link)
        elif requested := [key for key in impairment.effects if link.get(key)]:
            yield f"{requested[0]}: netem can't do that"
    if not shaped_at_hosts(link) and os.geteuid() == 0:
        mode = link["queue"]["mode"]
        for kind in ("htb", "codel") if mode == "codel" else ("htb",):
            if not kernel_has(kind):
                yield f"queue {mode}: netem needs sch_{kind} beside it, which this kernel does not have"


def _relay_refusals(links: Sequence[Link]) -> list[str]:
    held = {link["name"]: _frames_held(link) for link in links}
    if sum(held.values()) <= RELAY_FRAMES:
        return []
    largest = max(held, key=lambda name: held[name])
    return [
        f"link {largest!r}: its rate, delay and queue keep {held[largest]:,} full-size frames in the middle, all "
        f"links {sum(held.values()):,}, but the relay holds {RELAY_FRAMES:,}; lower one of them, or use "
        "--link netem where the kernel has it"
    ]


def _frames_held(link: Link) -> int:
    """Full-size frames of both directions in a link's middle."""
    queued = 0 if shaped_at_hosts(link) else link["queue"]["packets"]
    line = rate_pps(link) * (link["delay_ms"] + 4 * link.get("jitter_ms", 0.0)) / 1000
    return 2 * (queued + int(line))


def _tried(*commands: str) -> str | None:
    """The output of ``tc`` for commands in a namespace of their own; None where one or the namespace fails."""
    try:
        return run(["unshare", "--net", "sh", "-ec", "\n".join(f"tc {command}" for command in commands)])
    except CommandFailed:
        return None
