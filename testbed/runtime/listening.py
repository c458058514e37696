"""Waits until a program on a host can be connected to."""

from __future__ import annotations

from testbed.runtime.processes import Supervised
from topologies.commands import in_namespace, run

LISTEN_S = 10.0


def await_listening(namespace: str, port: int, server: Supervised) -> None:
    """Return when a program listens on a TCP port in a host's network namespace (by path); raises
    :class:`RunFailed` where the server ends or takes too long."""
    command = in_namespace(namespace, ["ss", "-Htln", f"sport = :{port}"])
    server.await_ready(lambda: bool(run(command).strip()), LISTEN_S)
