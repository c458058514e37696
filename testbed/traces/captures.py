"""Reads captures of links, as ``testbed/runner/link_captures.py`` and the simulator leave them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import dpkt

from testbed.errors import BadInput
from testbed.plan.model import Plan
from topologies.link import Link, LinkEnd


def captures_of(folder: Path, plan: Plan) -> Iterator[tuple[Link, LinkEnd, Path]]:
    """Each link's end that has a capture in a result folder, with the file."""
    for link in plan["links"]:
        for end in (link["a"], link["b"]):
            path = folder / "traces" / f"{link['name']}-{end['host']}.pcap"
            if path.is_file():
                yield link, end, path


def frames_of(path: Path) -> Iterator[tuple[Decimal | float, bytes]]:
    """Time (Unix seconds; a float where the file has microseconds) and bytes of each frame; raises BadInput."""
    try:
        with path.open("rb") as file:
            yield from dpkt.pcap.Reader(file)
    except (ValueError, dpkt.UnpackError) as error:
        raise BadInput(f"{path}: no capture that can be read: {error}") from error
