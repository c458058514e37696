"""The namespace that holds every link's middle and the management network of a run.

Deleting the namespace deletes all links, whatever else went wrong.
"""

from __future__ import annotations

from pathlib import Path

from testbed.plan.links import LinkEnd, LinkPlan
from topologies.commands import in_namespace, plain_frames, quiet_interfaces, run

MANAGEMENT_GATEWAY = "198.19.0.1"
MANAGEMENT_PREFIX = 24


TBF_HANDLE = "1:"


def tbf_limit_bytes(link: LinkPlan) -> int:
    """What a host's shaper may hold: above what a socket may queue, so that the socket blocks first."""
    return 2 * link.queue_packets * link.frame_bytes + (1 << 20)


def namespace_of(pid: int) -> str:
    """The path of a process's network namespace."""
    return f"/proc/{pid}/ns/net"


class Fabric:
    """The middle of all links of one run, in the network namespace ``name``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = f"/run/netns/{name}"

    def create(self) -> None:
        """Make the namespace; raises :class:`CommandFailed` if the name is taken."""
        run(["ip", "netns", "add", self.name])
        quiet_interfaces(self.path)
        self.run(["ip", "link", "set", "lo", "up"])

    def delete(self) -> None:
        """Delete the namespace and so every link; nothing to do if it is gone."""
        if Path(self.path).exists():
            run(["ip", "netns", "delete", self.name])

    def run(self, command: list[str]) -> str:
        """Run a command in the namespace."""
        return run(in_namespace(self.path, command))

    def wire(self, link: LinkPlan, pid_a: int, pid_b: int) -> None:
        """Create the link's two veth pairs, between each host's namespace and this one, and bring them up."""
        for end, pid in ((link.a, pid_a), (link.b, pid_b)):
            self._wire_end(end, pid)
        # Addresses are resolved before the first packet: an ARP exchange would cost it one RTT.
        for near, far, pid in ((link.a, link.b, pid_a), (link.b, link.a, pid_b)):
            neighbour = ["ip", "neigh", "replace", far.address, "lladdr", far.mac]
            run(in_namespace(namespace_of(pid), [*neighbour, "dev", near.interface, "nud", "permanent"]))

    def _wire_end(self, end: LinkEnd, pid: int) -> None:
        run([
            "ip", "link", "add", end.interface, "netns", str(pid), "address", end.mac,
            "type", "veth", "peer", "name", end.middle_interface, "netns", self.name,
        ])  # fmt: skip
        host = namespace_of(pid)
        quiet_interfaces(host)
        plain_frames(host, end.interface)
        plain_frames(self.path, end.middle_interface)
        run(in_namespace(host, ["ip", "addr", "add", f"{end.address}/{end.prefix}", "dev", end.interface]))
        run(in_namespace(host, ["ip", "link", "set", end.interface, "up"]))
        self.run(["ip", "link", "set", end.middle_interface, "up", "promisc", "on"])

    def shape(self, link: LinkPlan, pid_a: int, pid_b: int) -> None:
        """Rate and queue at each host's own egress: a full queue pushes back on the sender's socket.

        A link whose queue is in the middle is not shaped here.
        """
        if not link.shaped_at_hosts:
            return
        for end, pid in ((link.a, pid_a), (link.b, pid_b)):
            run(in_namespace(namespace_of(pid), [
                "tc", "qdisc", "replace", "dev", end.interface, "root", "handle", TBF_HANDLE, "tbf",
                "rate", f"{link.rate_bps}bit", "burst", str(link.burst_bytes),
                "limit", str(tbf_limit_bytes(link)),
            ]))  # fmt: skip

    def add_management(self, addresses: dict[int, str]) -> None:
        """A network apart from the emulated links: pid of each host → its address on ``mgmt0``."""
        self.run(["ip", "link", "add", "mgmt", "type", "bridge"])
        self.run(["ip", "addr", "add", f"{MANAGEMENT_GATEWAY}/{MANAGEMENT_PREFIX}", "dev", "mgmt"])
        self.run(["ip", "link", "set", "mgmt", "up"])
        for number, (pid, address) in enumerate(addresses.items(), start=1):
            run([
                "ip", "link", "add", "mgmt0", "netns", str(pid),
                "type", "veth", "peer", "name", f"m{number}", "netns", self.name,
            ])  # fmt: skip
            self.run(["ip", "link", "set", f"m{number}", "master", "mgmt", "up"])
            host = namespace_of(pid)
            run(in_namespace(host, ["ip", "addr", "add", f"{address}/{MANAGEMENT_PREFIX}", "dev", "mgmt0"]))
            run(in_namespace(host, ["ip", "link", "set", "mgmt0", "up"]))


def leftover_namespaces(prefix: str = "ncp-") -> list[str]:
    """Names of this testbed's namespaces that exist now."""
    return sorted(path.name for path in Path("/run/netns").glob(f"{prefix}*"))
