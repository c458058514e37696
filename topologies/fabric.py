"""The namespace that holds every link's middle and the management network of a run.

Deleting the namespace deletes all links, whatever else went wrong.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from topologies import shaper
from topologies.commands import batch, in_namespace, run
from topologies.link import Link, LinkEnd, shaped_at_hosts
from topologies.within import within

SIOCETHTOOL = 0x8946
# linux/ethtool.h
ETHTOOL_GSTRINGS, ETHTOOL_SFEATURES = 0x1B, 0x3B
ETH_SS_FEATURES = 4
NAME_BYTES, MOST_FEATURES = 32, 512  # the kernel fills in how many there are

OFFLOADS = ("tx-checksum-", "tx-generic-segmentation", "tx-tcp", "rx-gro")
"""Beginnings of the names of features: transmit checksums, segmentation, receive offload."""
BESIDE_TCP = ("tx-udp-", "rx-gro")
"""Offloads that are off even where TCP's segments stay whole."""


def plain_frames(interfaces: Sequence[str], *, but_for_tcp: bool = False) -> None:
    """Turn offloads of interfaces in the current namespace off; raises :class:`OSError`.

    Segmentation makes bursts beyond the rate, and with TX checksum offload a frame that user space forwards
    arrives with a bad checksum, unless it knows of both.
    """
    offloads = BESIDE_TCP if but_for_tcp else OFFLOADS
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for interface in interfaces:
            try:
                names = _features(any_socket, interface)
                _turn_off(any_socket, interface, [name.startswith(offloads) for name in names])
            except OSError as error:
                raise OSError(error.errno, f"{interface}: turn offloads off: {error.strerror}") from error


def _features(any_socket: socket.socket, interface: str) -> list[str]:
    request = struct.pack("III", ETHTOOL_GSTRINGS, ETH_SS_FEATURES, 0)
    answer = _ethtool(any_socket, interface, request + bytes(MOST_FEATURES * NAME_BYTES))
    count = struct.unpack_from("III", answer)[2]
    return [
        answer[start : start + NAME_BYTES].split(b"\0")[0].decode()
        for start in range(12, 12 + count * NAME_BYTES, NAME_BYTES)
    ]


def _turn_off(any_socket: socket.socket, interface: str, chosen: Sequence[bool]) -> None:
    request = struct.pack("II", ETHTOOL_SFEATURES, (len(chosen) + 31) // 32)
    for first in range(0, len(chosen), 32):
        valid = sum(1 << bit for bit, off in enumerate(chosen[first : first + 32]) if off)
        request += struct.pack("II", valid, 0)  # to be changed, and to what
    _ethtool(any_socket, interface, request)


def _ethtool(any_socket: socket.socket, interface: str, request: bytes) -> bytes:
    data = array.array("B", request)
    address, _ = data.buffer_info()
    fcntl.ioctl(any_socket, SIOCETHTOOL, struct.pack("16sP16x", interface.encode(), address))
    return data.tobytes()


MANAGEMENT_GATEWAY = "198.19.0.1"
MANAGEMENT_PREFIX = 24


def namespace_of(pid: int) -> str:
    """The path of a process's network namespace."""
    return f"/proc/{pid}/ns/net"


@dataclass(frozen=True)
class Tunnel:
    """The way by which an end of a link on another machine reaches its middle: point-to-point VXLAN (RFC 7348), whose
    frames are never fragmented."""

    vni: int
    local: str
    remote: str
    port: int
    mtu_bytes: int
    """MTU of the frames' payload, without the tunnel's headers."""

    def other_end(self) -> Tunnel:
        """The same from the other machine's end."""
        return replace(self, local=self.remote, remote=self.local)

    def options(self) -> str:
        """Arguments of ``ip``."""
        return (
            f"mtu {self.mtu_bytes} type vxlan id {self.vni} local {self.local} remote {self.remote} "
            f"dstport {self.port} df set udpcsum nolearning"
        )


class Fabric:
    """The middle of all links of one run, in the network namespace ``name``.

    ``congestion_control`` is that of TCP over the links, None: the machine's. ``sysctls`` are set at every host
    before it has an address, and so before there is a socket in it. ``tunnels`` are those of links with an end or the
    middle on another machine, by the interface that is here, a host's or the middle's; ``absent`` are the interfaces of
    middles that are on other machines.
    """

    def __init__(
        self,
        name: str,
        congestion_control: str | None = None,
        sysctls: Mapping[str, str] | None = None,
        tunnels: Mapping[str, Tunnel] | None = None,
        absent: Collection[str] = (),
    ) -> None:
        self.name = name
        self.congestion_control = congestion_control
        self.sysctls = sysctls or {}
        self.tunnels = tunnels or {}
        self.absent = absent
        self.path = f"/run/netns/{name}"
        self._added: list[_HostEnd] = []
        self._hosts_set_up: set[int] = set()

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

    def batch(self, tool: str, *lines: str) -> None:
        """Lines of ``ip`` or ``tc`` in one process in the namespace."""
        within(self.path, partial(batch, tool, *lines))

    def add(self, link: Link, pid_a: int, pid_b: int, *, shaped: bool = True) -> None:
        """Take a link between two hosts, each given by a process in it; :meth:`connect` makes it. A link whose rate and
        queue are at its hosts goes without if not ``shaped``."""
        shaping = link if shaped and shaped_at_hosts(link) else None
        for pid, near, far in ((pid_a, link["a"], link["b"]), (pid_b, link["b"], link["a"])):
            self._added.append(_HostEnd(pid, near, far, shaping, link.get("whole_segments", False)))

    def connect(self) -> None:
        """Make the links that were added: each a veth pair from either host's namespace to this one, up, with its
        rate at the hosts' egress; where an end or the middle is on another machine this end of its tunnel. A few
        processes make all of them."""
        ends, self._added = self._added, []
        ends = [end for end in ends if end.near["middle_interface"] not in self.absent or self._tunnel_of(end)]
        if not ends:
            return
        batch("ip", *(self._addition(end) for end in ends))
        middles = [end for end in ends if end.near["middle_interface"] not in self.absent]
        if middles:
            within(self.path, lambda: _bring_middle_up(middles))
        ends = [end for end in ends if end.near["middle_interface"] not in self.tunnels]
        for pid in dict.fromkeys(end.pid for end in ends):
            own = [end for end in ends if end.pid == pid]
            if pid not in self._hosts_set_up:
                within(namespace_of(pid), self._set_up_host)
            within(namespace_of(pid), partial(_bring_host_up, own, self.congestion_control))
            self._hosts_set_up.add(pid)

    def _tunnel_of(self, end: _HostEnd) -> Tunnel | None:
        """The tunnel of a host here to a link emulator on another machine; None where that is here, too."""
        return self.tunnels.get(end.near["interface"])

    def _addition(self, end: _HostEnd) -> str:
        at_host = f"link add {end.near['interface']} netns {end.pid} address {end.near['mac']}"
        in_middle = f"{end.near['middle_interface']} netns {self.name}"
        if tunnel := self._tunnel_of(end):
            return f"{at_host} {tunnel.options()}"
        if tunnel := self.tunnels.get(end.near["middle_interface"]):
            return f"link add {in_middle} {tunnel.options()}"
        return f"{at_host} type veth peer name {in_middle}"

    def _set_up_host(self) -> None:
        quiet_interfaces()
        for name, value in self.sysctls.items():
            Path("/proc/sys", name.replace(".", "/")).write_text(value)

    def add_management(self, addresses: dict[int, str]) -> None:
        """A network apart from the emulated links: pid of each host → its address on ``mgmt0``."""
        ports = {pid: f"m{number}" for number, pid in enumerate(addresses, start=1)}
        pairs = (f"mgmt0 netns {pid} type veth peer name {port} netns {self.name}" for pid, port in ports.items())
        batch("ip", *(f"link add {pair}" for pair in pairs))
        self.batch(
            "ip",
            "link add mgmt type bridge",
            f"addr add {MANAGEMENT_GATEWAY}/{MANAGEMENT_PREFIX} dev mgmt",
            "link set mgmt up",
            *(f"link set {port} master mgmt up" for port in ports.values()),
        )
        for pid, address in addresses.items():
            own = (f"addr add {address}/{MANAGEMENT_PREFIX} dev mgmt0", "link set mgmt0 up")
            within(namespace_of(pid), partial(batch, "ip", *own))


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


@dataclass(frozen=True)
class _HostEnd:
    """One end of a link at its host."""

    pid: int
    near: LinkEnd
    far: LinkEnd
    shaping: Link | None
    whole_segments: bool


def _bring_middle_up(ends: Sequence[_HostEnd]) -> None:
    _turn_offloads_off(ends, "middle_interface")
    batch("ip", *(f"link set {end.near['middle_interface']} up promisc on" for end in ends))


def _turn_offloads_off(ends: Sequence[_HostEnd], which: Literal["interface", "middle_interface"]) -> None:
    for whole in (False, True):
        plain_frames([end.near[which] for end in ends if end.whole_segments == whole], but_for_tcp=whole)


def _bring_host_up(ends: Sequence[_HostEnd], congestion_control: str | None) -> None:
    _turn_offloads_off(ends, "interface")
    if shaping := [line for end in ends if end.shaping for line in shaper.commands(end.shaping, end.near["interface"])]:
        batch("tc", *shaping)
    lines: list[str] = []
    for end in ends:
        interface, address, far = end.near["interface"], end.near["address"], end.far["address"]
        # Where TCP's congestion control is chosen, no other route than that with it, however short: an agent in a
        # container dials as soon as there is one.
        no_route = " noprefixroute" if congestion_control else ""
        lines += [
            f"addr add {address}/{end.near['prefix']} dev {interface}{no_route}",
            f"link set {interface} up",
            # Addresses are resolved before the first packet: an ARP exchange would cost it one RTT.
            f"neigh replace {far} lladdr {end.far['mac']} dev {interface} nud permanent",
        ]
        if congestion_control:
            lines.append(f"route add {far} dev {interface} src {address} congctl {congestion_control}")
    batch("ip", *lines)


def leftover_namespaces(prefix: str = "ncp-") -> list[str]:
    """Names of this testbed's namespaces that exist now."""
    return sorted(path.name for path in Path("/run/netns").glob(f"{prefix}*"))
