"""Mininet hosts that live in the network namespace of a container."""

from __future__ import annotations

from typing import Any

from mininet.node import Host

from topologies.commands import in_namespace
from topologies.fabric import namespace_of


class ContainerHost(Host):
    """A host whose namespace is that of a running container, entered with this machine's own tools.

    The container needs neither a shell nor any tool of its own: one static binary on ``scratch`` will do.
    """

    def __init__(self, name: str, container_pid: int, **params: Any) -> None:
        self.container_pid = container_pid
        super().__init__(name, **params)

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802 (Mininet's name)
        """Start Mininet's shell inside the container's network namespace."""
        # mnexec would make a namespace of its own for a host "in namespace".
        self.inNamespace = False
        try:
            super().startShell(mnopts)
        finally:
            self.inNamespace = True

    def _popen(self, cmd: list[str], **params: Any) -> Any:
        if self.shell is None:
            cmd = in_namespace(namespace_of(self.container_pid), cmd)
        return super()._popen(cmd, **params)
