"""Reads what a run traced: what sessions did, in qlog as a JSON text sequence (RFC 7464), as ``ncp-agent/qlog`` writes
it, and captures of links, as ``testbed/runtime/packets.py`` and the simulator leave them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from testbed.errors import BadInput
from testbed.plan.model import Plan
from testbed.traffic.pcap import Frame, NotACapture, frames
from topologies.link import Link, LinkEnd

SEPARATOR = "\x1e"
SUFFIX = ".sqlog"

Event = dict[str, Any]
"""``time`` in ms since the session's own start, ``name`` and ``data``."""


class Trace(NamedTuple):
    """One end of a session."""

    header: dict[str, Any]
    events: list[Event]

    def of(self, name: str) -> list[Event]:
        """The events of one name, ``packet_sent``."""
        return [event for event in self.events if event["name"] == f"ncp:{name}"]


def traces_of(folder: Path) -> dict[str, Trace]:
    """Traces of a result folder, by the names of their ends: ``s1-sender``; raises :class:`BadInput`."""
    return {path.stem: read_trace(path) for path in sorted((folder / "traces").glob(f"*{SUFFIX}"))}


def read_trace(path: Path) -> Trace:
    """A file; BadInput names the record that is none."""
    records: list[dict[str, Any]] = []
    try:
        before, *texts = path.read_text(encoding="utf-8").split(SEPARATOR)
    except UnicodeDecodeError as error:
        raise BadInput("file.bad-utf8", f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    if before or not texts:
        raise BadInput(
            "qlog.no-separator", f"{path}: not a JSON text sequence: it should begin with the separator 0x1E"
        )
    for number, text in enumerate(texts, start=1):
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(
                "qlog.bad-record", f"{path}: record {number} is not JSON; perhaps the run was cut off: {error}"
            ) from error
        if not isinstance(record, dict) or (number > 1 and not {"time", "name", "data"} <= record.keys()):
            raise BadInput(
                "qlog.record-not-an-event",
                f"{path}: record {number} should be an object with time, name and data: {text.strip():.80}",
            )
        records.append(record)
    return Trace(records[0], records[1:])


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
