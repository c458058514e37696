"""The namespace that holds every link's middle and the management network of a run.

Deleting the namespace deletes all links, whatever else went wrong.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

from testbed.plan.links import LinkEnd, LinkPlan
from topologies.commands import batch, in_namespace, run
from topologies.offloads import plain_frames
from topologies.within import within

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
        self._quieted: set[int] = set()

    def create(self) -> None:
        """Make the namespace; raises :class:`CommandFailed` if the name is taken."""
        run(["ip", "netns", "add", self.name])
        within(self.path, _make_quiet)

    def delete(self) -> None:
        """Delete the namespace and so every link; nothing to do if it is gone."""
        if Path(self.path).exists():
            run(["ip", "netns", "delete", self.name])

    def run(self, command: list[str]) -> str:
        """Run a command in the namespace."""
        return run(in_namespace(self.path, command))

    def wire(self, link: LinkPlan, pid_a: int, pid_b: int) -> None:
        """Create the link's two veth pairs, between each host's namespace and this one, and bring them up."""
        ends = ((link.a, link.b, pid_a), (link.b, link.a, pid_b))
        batch("ip", *(
            f"link add {near.interface} netns {pid} address {near.mac} "
            f"type veth peer name {near.middle_interface} netns {self.name}"
            for near, _, pid in ends
        ))  # fmt: skip
        within(self.path, lambda: _bring_middle_up(link))
        for near, far, pid in ends:
            self._quiet(pid)
            within(namespace_of(pid), partial(_bring_host_up, near, far))

    def _quiet(self, pid: int) -> None:
        """Each host once, before its first link is up."""
        if pid not in self._quieted:
            within(namespace_of(pid), quiet_interfaces)
            self._quieted.add(pid)

    def shape(self, link: LinkPlan, pid_a: int, pid_b: int) -> None:
        """Rate and queue at each host's own egress: a full queue pushes back on the sender's socket.

        A link whose queue is in the middle is not shaped here.
        """
        if not link.shaped_at_hosts:
            return
        for end, pid in ((link.a, pid_a), (link.b, pid_b)):
            within(namespace_of(pid), partial(run, [
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


def quiet_interfaces() -> None:
    """Keep the current namespace's interfaces from sending anything by themselves: no IPv6, hence no router or
    neighbour discovery on the emulated links."""
    for scope in ("all", "default"):
        # A kernel without IPv6 sends none.
        with suppress(FileNotFoundError):
            Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")


def _make_quiet() -> None:
    quiet_interfaces()
    run(["ip", "link", "set", "lo", "up"])


def _bring_middle_up(link: LinkPlan) -> None:
    names = [link.a.middle_interface, link.b.middle_interface]
    plain_frames(names)
    batch("ip", *(f"link set {name} up promisc on" for name in names))


def _bring_host_up(near: LinkEnd, far: LinkEnd) -> None:
    plain_frames([near.interface])
    batch(
        "ip",
        f"addr add {near.address}/{near.prefix} dev {near.interface}",
        f"link set {near.interface} up",
        # Addresses are resolved before the first packet: an ARP exchange would cost it one RTT.
        f"neigh replace {far.address} lladdr {far.mac} dev {near.interface} nud permanent",
    )


def leftover_namespaces(prefix: str = "ncp-") -> list[str]:
    """Names of this testbed's namespaces that exist now."""
    return sorted(path.name for path in Path("/run/netns").glob(f"{prefix}*"))
