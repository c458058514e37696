"""Which implementations exchange a transfer, over how many connections, with which loss."""

from __future__ import annotations

from dataclasses import dataclass

OURS = "ours"
PEERS = {"1.0.9": "ncp-1.0.9", "1.1.2": "ncp-1.1.2"}
"""npm's implementations by version: the name of each in ``peers/npm-ncp/package.json``."""
LATEST = "1.1.2"


@dataclass(frozen=True)
class Pairing:
    """One transfer: who sends to whom, over how many connections, with which share of the packets lost."""

    number: int
    sender: str
    receiver: str
    connections: int
    loss: float

    @property
    def session(self) -> str:
        """The session's name in the plan: short, as a control socket's path holds it."""
        return f"c{self.number}"

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{self.sender}-to-{self.receiver}-{self.connections}-{loss_words(self.loss)}".replace(" ", "-")

    @property
    def title(self) -> str:
        """For people."""
        connections = f"{self.connections} connection{'s' if self.connections > 1 else ''}"
        return f"{self.sender} → {self.receiver}, {connections}, {loss_words(self.loss)}"


def loss_words(loss: float) -> str:
    """``clean`` or ``1% loss``."""
    return f"{loss * 100:g}% loss" if loss else "clean"
