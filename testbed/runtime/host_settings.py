"""A host's kernel in a TCP experiment, in its own network namespace: its settings, gone with it and kept in provenance,
and its counters."""

import json
from collections.abc import Mapping
from typing import Any

from testbed.errors import Unsupported
from topologies.commands import CommandFailed, in_namespace, run

BUFFERS = {
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    # What one connection learned of a path must not change the next.
    "net.ipv4.tcp_no_metrics_save": "1",
}
"""Linux's own buffers: a fresh network namespace does not take over the machine's."""

DEFAULTS = BUFFERS | {
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_moderate_rcvbuf": "1",
    "net.ipv4.tcp_slow_start_after_idle": "1",
    "net.ipv4.tcp_mtu_probing": "0",
    "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_fastopen": "0",
}
"""Settings of every host before those of the scenario, whatever the machine itself has."""


def prepare_host(
    namespace: str, peer: str, sysctls: Mapping[str, str], route: Mapping[str, str], congestion_control: str
) -> dict[str, Any]:
    """Set a host (by its namespace's path) for a connection with ``peer``; returns the settings in force then.

    Raises:
        Unsupported: the kernel refuses a setting; the message has its words.
    """
    settings = {**DEFAULTS, **sysctls}
    try:
        run(in_namespace(namespace, ["sysctl", "-qw", *(f"{name}={value}" for name, value in settings.items())]))
    except CommandFailed:  # one by one, so that the message names the setting
        for name, value in settings.items():
            _set(namespace, ["sysctl", "-qw", f"{name}={value}"], f"sysctl {name} = {value}")
    # By the route and not by a sysctl: the default of a namespace can only be one that the root namespace allows
    # to all, and the choice of a route holds for accepted connections as well.
    _change_route(namespace, peer, {**route, "congctl": congestion_control})
    values = run(in_namespace(namespace, ["sysctl", "-n", *settings])).splitlines()
    now = run(in_namespace(namespace, ["ip", "route", "show", f"{peer}/32"]))
    in_force = {name: " ".join(value.split()) for name, value in zip(settings, values, strict=True)}
    return {"sysctls": in_force, "route": " ".join(now.split())}


def _change_route(namespace: str, peer: str, options: Mapping[str, str]) -> None:
    """Give the host's path to ``peer`` these options, as a route to that address alone."""
    now: dict[str, Any] = json.loads(run(in_namespace(namespace, ["ip", "-j", "route", "get", peer])))[0]
    path = [*(("via", now["gateway"]) if "gateway" in now else ()), "dev", now["dev"], "src", now["prefsrc"]]
    chosen = [part for name, value in options.items() for part in (name, *value.split())]
    _set(namespace, ["ip", "route", "replace", f"{peer}/32", *path, *chosen], f"a route with {' '.join(chosen)}")


def _set(namespace: str, command: list[str], what: str) -> None:
    try:
        run(in_namespace(namespace, command))
    except CommandFailed as error:
        raise Unsupported("kernel.refuses", f"this kernel refuses {what}: {error}") from error


def read_counters(namespace: str) -> dict[str, int]:
    """The counters now of IP and TCP (``/proc/net/snmp`` and ``netstat``), of a namespace by its path, by
    ``<group>.<name>`` like ``TcpExt.TCPTimeouts``."""
    return counters(run(in_namespace(namespace, ["cat", "/proc/self/net/snmp", "/proc/self/net/netstat"])))


def counters(text: str) -> dict[str, int]:
    """Pairs of lines: names, then values, both after the group's name and a colon."""
    lines = [line.split() for line in text.splitlines() if line]
    return {
        f"{names[0].rstrip(':')}.{name}": int(value)
        for names, row in zip(lines[::2], lines[1::2], strict=True)
        for name, value in zip(names[1:], row[1:], strict=True)
    }


def grown(earlier: Mapping[str, int], later: Mapping[str, int]) -> dict[str, int]:
    """Counters that have grown between two readings, and by how much."""
    by = {name: value - earlier.get(name, 0) for name, value in later.items()}
    return {name: value for name, value in by.items() if value > 0}
