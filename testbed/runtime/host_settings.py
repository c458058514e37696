"""Sets a host's kernel for a TCP experiment, in its own network namespace: gone with it, and told in provenance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
"""What every host is set to before the scenario's own settings: the same whatever the machine's are."""


def prepare_host(
    namespace: str, peer: str, sysctls: Mapping[str, str], route: Mapping[str, str], congestion_control: str
) -> dict[str, Any]:
    """Set a host (by its namespace's path) for a connection with ``peer``; returns what is in force then.

    Raises:
        Unsupported: the kernel refuses a setting; the message has its words.
    """
    wanted = {**DEFAULTS, **sysctls}
    _set(namespace, wanted)
    # By the route and not by a sysctl: a namespace's default can only be what the machine's root namespace
    # allows to all, and a route's is chosen for accepted connections as well.
    options = {**route, "congctl": congestion_control}
    _change_route(namespace, peer, options)
    return {"sysctls": _read(namespace, list(wanted)), "route": _route_to(namespace, peer)}


def _set(namespace: str, wanted: Mapping[str, str]) -> None:
    settings = {name: f"{name}={value}" for name, value in wanted.items()}
    try:
        run(in_namespace(namespace, ["sysctl", "-qw", *settings.values()]))
    except CommandFailed:  # one by one, so that the message names the setting
        for name, setting in settings.items():
            _asked(namespace, ["sysctl", "-qw", setting], f"sysctl {name} = {wanted[name]}")


def _change_route(namespace: str, peer: str, options: Mapping[str, str]) -> None:
    """Give the host's way to ``peer`` these options, as a route to that address alone."""
    now: dict[str, Any] = json.loads(run(in_namespace(namespace, ["ip", "-j", "route", "get", peer])))[0]
    way = [*(("via", now["gateway"]) if "gateway" in now else ()), "dev", now["dev"], "src", now["prefsrc"]]
    chosen = [part for name, value in options.items() for part in (name, *value.split())]
    _asked(namespace, ["ip", "route", "replace", f"{peer}/32", *way, *chosen], f"a route with {' '.join(chosen)}")


def _route_to(namespace: str, peer: str) -> str:
    return " ".join(run(in_namespace(namespace, ["ip", "route", "show", f"{peer}/32"])).split())


def _read(namespace: str, names: Sequence[str]) -> dict[str, str]:
    """The values in force, which the kernel must have."""
    values = run(in_namespace(namespace, ["sysctl", "-n", *names])).splitlines()
    return {name: " ".join(value.split()) for name, value in zip(names, values, strict=True)}


def _asked(namespace: str, command: list[str], what: str) -> None:
    try:
        run(in_namespace(namespace, command))
    except CommandFailed as error:
        raise Unsupported("kernel.refuses", "this kernel refuses {what}: {error}", what=what, error=error) from error
