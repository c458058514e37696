"""The middle of links by the kernel's own netem."""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.message import Message
from topologies import netem_options, shaper
from topologies.capabilities import netem_takes_seed
from topologies.commands import CommandFailed
from topologies.fabric import Fabric
from topologies.impairments import jitter
from topologies.link import Link, burst_bytes_at, shaped_at_hosts
from topologies.live_change import Applied, pair_ends, set_carrier, wait_until
from topologies.netem_options import DIRECTIONS, Properties


class NetemMiddle:
    """Delay and loss at the middle's egress towards each host, rate and queue one hop before it.

    What arrives at one end of a link is copied to the other and then dropped, so that it no longer counts
    against the sender's socket (which would block once the middle holds much), and the copy passes netem. A
    queue in the middle comes before the delay, so there the copy first crosses a veth pair with HTB::

        l1a ─copy─ l1x HTB ══ l1y ─copy─ netem l1b
    """

    name = "netem"

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.seeded = False
        self._live: dict[tuple[str, str], Properties] = {}
        self._changes: dict[tuple[str, str], int] = {}
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def start(self, links: Sequence[Link]) -> None:
        """Join the two ends of each link and set its properties; raises :class:`CommandFailed`."""
        self._directory = tempfile.TemporaryDirectory(prefix="ncp-netem-")
        self.seeded = netem_takes_seed()
        pair_ends(self.fabric, links)
        lines: list[str] = []
        crossings: list[str] = []
        for link in links:
            self._write_table(link)
            if not shaped_at_hosts(link):
                pair = [shaping_interface(link, direction) for direction in DIRECTIONS]
                crossings += [f"link add {pair[0]} type veth peer name {pair[1]}"]
                crossings += [f"link set {interface} up" for interface in pair]
            for direction in DIRECTIONS:
                lines += self._start_lines(link, direction)
        if crossings:
            self.fabric.batch("ip", *crossings)
        self._tc(lines)

    def _start_lines(self, link: Link, direction: str) -> Iterator[str]:
        self._live[link["name"], direction] = properties = netem_options.properties_of(link)
        self._changes[link["name"], direction] = 0
        yield self._netem("add", link, direction, properties)
        near, far = link["a"]["middle_interface"], link["b"]["middle_interface"]
        if direction == "ba":
            near, far = far, near
        if not shaped_at_hosts(link):
            crossing = shaping_interface(link, direction)
            yield f"qdisc add dev {crossing} root handle 1: htb default 1"
            yield _class("add", crossing, properties)
            yield _queue("add", crossing, properties)
            yield from _copy(near, crossing)
            near = shaping_interface(link, "ba" if direction == "ab" else "ab")
        yield from _copy(near, far)

    def change(self, link: Link, direction: str, properties: Mapping[str, Any], *, at_unix_ns: int = 0) -> Applied:
        """Change properties (``internal/linkmodel``'s names) of ``ab``, ``ba`` or ``both`` at a time, or now if it has
        passed, keeping what is queued.

        Raises :class:`ValueError` for what netem can't change, :class:`CommandFailed` if ``tc`` fails.
        """
        if shaped_at_hosts(link) and not {"rate_bps", "burst_bytes", "queue_packets"}.isdisjoint(properties):
            raise ValueError(f"link {link['name']}: its rate and queue are at the hosts, not in the middle")
        if direction not in (*DIRECTIONS, "both"):
            raise ValueError(f"direction: {direction!r}, want ab, ba or both")
        if "rate_bps" in properties:  # as at the hosts, the bucket is what the timer's lateness needs at that rate
            properties = {"burst_bytes": burst_bytes_at(link, properties["rate_bps"]), **properties}
        lines = []
        after = {}
        for way in DIRECTIONS if direction == "both" else (direction,):
            before = self._live[link["name"], way]
            after[link["name"], way] = changed = netem_options.changed(before, properties)
            if not shaped_at_hosts(link):
                crossing = shaping_interface(link, way)
                for command in (_class, _queue):
                    if command("change", crossing, before) != command("change", crossing, changed):
                        lines.append(command("change", crossing, changed))
            # Options that netem gets again start again: its seed, and the state of bursty loss.
            if netem_options.netem(before) != netem_options.netem(changed):
                self._changes[link["name"], way] += 1
                lines.append(self._netem("change", link, way, changed))
        wait_until(at_unix_ns)
        applied = self._tc(lines)
        self._live.update(after)
        return applied

    def carrier(self, link: Link, *, up: bool, at_unix_ns: int = 0) -> Applied:
        """Take the link down at both ends, or up again. Frames in the link while it is down are lost."""
        return set_carrier(self.fabric, link, up=up, at_unix_ns=at_unix_ns)

    def facts(self) -> dict[str, Any]:
        """Facts for readers of a result."""
        reason = "" if self.seeded else "this iproute2 or kernel (before 6.6) gives netem no seed"
        return {"middle": self.name, "losses_seeded": self.seeded, "reason": reason}

    def failed(self) -> Message | None:
        """The kernel's middle does not end by itself."""
        return None

    def stop(self) -> None:
        """Nothing of it outlives the namespace."""
        if self._directory:
            self._directory.cleanup()
            self._directory = None

    def _netem(self, verb: str, link: Link, direction: str, properties: Properties) -> str:
        end = link["b"] if direction == "ab" else link["a"]
        changes = self._changes[link["name"], direction]
        seed = netem_options.seed_of(link, direction, changes) if self.seeded else None
        options = netem_options.netem(properties, seed=seed)
        return f"qdisc {verb} dev {end['middle_interface']} root handle 1: {' '.join(options)}"

    def _write_table(self, link: Link) -> None:
        if name := jitter.table_name(link):
            assert self._directory is not None
            (Path(self._directory.name) / f"{name}.dist").write_text(jitter.table(link))

    def _tc(self, lines: Sequence[str]) -> Applied:
        """Commands in one process of ``tc``, so that they take effect within microseconds of each other."""
        if self._directory is None:
            raise CommandFailed("the links' middle is not started")
        batch = Path(self._directory.name) / "batch"
        batch.write_text("".join(f"{line}\n" for line in lines))
        command = ["tc", "-batch", str(batch)]
        if any(" distribution " in line for line in lines):
            command = ["env", f"TC_LIB_DIR={self._directory.name}", *command]
        begun_ns = time.time_ns()
        self.fabric.run(command)
        return Applied(begun_ns, time.time_ns())


def shaping_interface(link: Link, direction: str) -> str:
    """The interface at whose egress a direction's rate and queue are."""
    return f"l{link['index']}{'x' if direction == 'ab' else 'y'}"


def _copy(near: str, far: str) -> tuple[str, str]:
    """A wire from one interface's ingress to another's egress, whatever the frames' addresses."""
    return (
        f"qdisc add dev {near} ingress",
        f"filter add dev {near} ingress matchall action mirred egress mirror dev {far} action drop",
    )


def _class(verb: str, interface: str, properties: Properties) -> str:
    options = shaper.rate_class(properties["rate_bps"], properties["burst_bytes"], properties["frame_bytes"])
    return f"class {verb} dev {interface} parent 1: classid 1:1 htb {shaper.in_words(options)}"


def _queue(verb: str, interface: str, properties: Properties) -> str:
    return f"qdisc {verb} dev {interface} parent 1:1 handle 10: {' '.join(netem_options.queue(properties))}"
