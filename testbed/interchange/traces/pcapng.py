"""Captures of a host's links as one pcapng file, whose comments tell the verdict and what happened when."""

import heapq
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpkt import pcapng

from testbed.documents import read_json
from testbed.interchange.traces.reading import captures_of, frames_of
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.series import FromFile

NAME, RESOLUTION = 2, 9
"""Options of an interface: its name, and the resolution of times (10 to the power of minus that, in s)."""
NANOSECONDS = 9
PER_S = 10**9


def export(folder: Path) -> list[Path]:
    """Write ``traces/<host>.pcapng`` of a result folder for each host with captures; returns the files.

    Raises:
        BadInput: a capture that can't be read.
    """
    plan = read_plan(folder / "plan.json")
    captures: dict[str, dict[str, Path]] = defaultdict(dict)
    for link, end, path in captures_of(folder, plan):
        captures[end["host"]][f"{end['interface']} ({link['name']})"] = path
    comments = _comments(folder) if captures else []
    files = {folder / "traces" / f"{host}.pcapng": by_interface for host, by_interface in sorted(captures.items())}
    for path, by_interface in files.items():
        _write(path, by_interface, _verdict(folder, plan), comments)
    return [*files]


def _verdict(folder: Path, plan: Plan) -> str:
    """The run's, with each check's."""
    if not (folder / "verdict.json").is_file():
        return f"{plan['scenario']} {plan['run']}: not judged"
    reported = read_json(folder / "verdict.json")
    lines = [f"{reported['verdict'].upper()} {reported['scenario']} {reported['run']}: {reported['summary']}"]
    lines += [f"{check['name']}: {check['status']}: {check['reason']}" for check in reported["checks"]]
    return "\n".join(lines)


def _comments(folder: Path) -> list[tuple[int, str]]:
    """Events of the run, in Unix nanoseconds."""
    events = FromFile(folder / "telemetry.lp", {"event"}).events()
    start_ns = next((event.t_ns for event in events if event.kind == "transfer_start"), 0)
    return [
        (event.t_ns, f"{(event.t_ns - start_ns) / PER_S:.3f} s: {event.kind} {event.session}: {event.text}")
        for event in events
    ]


def _write(path: Path, captures: dict[str, Path], verdict: str, comments: list[tuple[int, str]]) -> None:
    with path.open("wb") as file:
        file.write(bytes(pcapng.SectionHeaderBlock(opts=_options({pcapng.PCAPNG_OPT_COMMENT: verdict}))))
        for name in captures:
            options = _options({NAME: name, RESOLUTION: chr(NANOSECONDS)})
            file.write(bytes(pcapng.InterfaceDescriptionBlock(snaplen=0xFFFF, opts=options)))
        waiting = list(comments)
        frames = [_frames(number, capture) for number, capture in enumerate(captures.values())]
        for unix_ns, number, data in heapq.merge(*frames):
            said = []
            while waiting and waiting[0][0] <= unix_ns:
                said.append(waiting.pop(0)[1])
            options = _options({pcapng.PCAPNG_OPT_COMMENT: "\n".join(said)}) if said else []
            high, low = divmod(unix_ns, 1 << 32)
            block = pcapng.EnhancedPacketBlock(iface_id=number, ts_high=high, ts_low=low, pkt_data=data, opts=options)
            file.write(bytes(block))


def _frames(interface: int, path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Time, interface and bytes of each frame."""
    return ((frame.t_ns, interface, frame.data) for frame in frames_of(path))


def _options(values: dict[int, str]) -> list[Any]:
    """Options of a block by their codes, with the one that ends them."""
    made = [pcapng.PcapngOption(code=code, data=value.encode()) for code, value in values.items()]
    return [*made, pcapng.PcapngOption(code=pcapng.PCAPNG_OPT_ENDOFOPT)]
