"""Mininet hosts with routes of their own, in a namespace of their own or that of a container."""

import select
from collections.abc import Sequence
from functools import partial
from typing import Any

from mininet.node import Host

from topologies.commands import CommandFailed, batch, in_namespace, run
from topologies.fabric import namespace_of
from topologies.layout import Route
from topologies.within import within

PROMPT = chr(127)
"""Prompt of Mininet's shells."""
SHELL_POLL_S = 0.1


class RoutedHost(Host):
    """A host with routes; with ``forwards`` a router, which passes on what is not for itself.

    ``congestion_control`` is that of TCP over the routes; None: the machine's.
    """

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802 (Mininet's name)
        """Start Mininet's shell, without what Mininet asks of mnexec beside: to close each of the thousands of
        descriptors that there may be, which takes a third of a second where a system call has its price."""
        super().startShell(mnopts or "-d")

    def _popen(self, cmd: list[str], **params: Any) -> Any:
        """Mininet's way to start a process, in which no descriptor of this one is open."""
        return super()._popen(cmd, **{**params, "close_fds": True})

    def config(
        self, routes: Sequence[Route] = (), forwards: bool = False, congestion_control: str | None = None, **params: Any
    ) -> dict[str, Any]:
        """Mininet's hook for setting up a host, called when its links are there."""
        configured: dict[str, Any] = super().config(**params)
        namespace = namespace_of(self.pid)
        if forwards:
            run(in_namespace(namespace, ["sysctl", "-q", "-w", "net.ipv4.ip_forward=1"]))
        chosen = f" congctl {congestion_control}" if congestion_control else ""
        lines = [f"route replace {route['to']} via {route['via']} dev {route['interface']}{chosen}" for route in routes]
        if lines:
            within(namespace, partial(batch, "ip", *lines))
        return configured


class ContainerHost(RoutedHost):
    """A host whose namespace is that of a running container, entered with this machine's own tools.

    The container needs neither a shell nor any tool of its own: one static binary on ``scratch`` will do.
    """

    def __init__(self, name: str, container_pid: int, **params: Any) -> None:
        self.container_pid = container_pid
        self._prompted = False
        super().__init__(name, **params)

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802 (Mininet's name)
        """Start Mininet's shell inside the container's network namespace."""
        # mnexec would make a namespace of its own for a host "in namespace".
        self.inNamespace = False
        try:
            super().startShell(mnopts)
        finally:
            self.inNamespace = True
            self._prompted = True

    def read(self, size: int = 1024) -> str:
        """Mininet's buffered read; until the shell's prompt has come, a shell that ends is an error.

        Mininet would wait for that prompt for ever: its own end keeps the terminal open.
        """
        if self._prompted:
            return str(super().read(size))
        said = ""
        while not said.endswith(PROMPT):
            # Not Mininet's own poll object: that one also tells that the shell can be written to.
            if select.select([self.stdout], [], [], SHELL_POLL_S)[0]:
                said += str(super().read(size))
            elif self.shell.poll() is not None:
                raise CommandFailed(f"host {self.name}: its container has ended: {said.strip()}")
        return said

    def _popen(self, cmd: list[str], **params: Any) -> Any:
        if self.shell is None:
            cmd = in_namespace(namespace_of(self.container_pid), cmd)
        return super()._popen(cmd, **params)
