"""Reads captures of links, as ``testbed/engines/mininet/link_captures.py`` and the simulator leave them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from testbed.errors import BadInput
from testbed.plan.model import Plan
from testbed.traffic.pcap import Frame, NotACapture, frames
from topologies.link import Link, LinkEnd


def captures_of(folder: Path, plan: Plan) -> Iterator[tuple[Link, LinkEnd, Path]]:
    """Each link's end that has a capture in a result folder, with the file."""
    for link in plan["links"]:
        for end in (link["a"], link["b"]):
            path = folder / "traces" / f"{link['name']}-{end['host']}.pcap"
            if path.is_file():
                yield link, end, path


def frames_of(path: Path) -> Iterator[Frame]:
    """The frames of one of them; raises BadInput."""
    try:
        yield from frames(path)
    except NotACapture as error:
        raise BadInput.of(error.said) from error
