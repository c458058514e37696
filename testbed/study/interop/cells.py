"""The matrix: which implementations meet, over how many connections, with which loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from testbed.errors import BadInput

OURS = "ours"
PEERS = {"1.0.9": "ncp-1.0.9", "1.1.2": "ncp-1.1.2"}
"""npm's implementations by version: the name of each in ``peers/npm-ncp/package.json``."""
LATEST = "1.1.2"
MOST_CONNECTIONS = 4


@dataclass(frozen=True)
class Cell:
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


def pairs(peers: Sequence[str], *, references: bool) -> list[tuple[str, str]]:
    """Who sends to whom: ours and each peer both ways; as references, ours and the latest peer with themselves."""
    both_ways = [pair for peer in peers for pair in ((OURS, peer), (peer, OURS))]
    return both_ways + ([(OURS, OURS), (LATEST, LATEST)] if references else [])


def matrix(who: Iterable[tuple[str, str]], connections: Sequence[int], losses: Sequence[float]) -> list[Cell]:
    """All cells, those of one loss together, as they share a network."""
    cells: list[Cell] = []
    for loss in losses:
        for sender, receiver in who:
            for count in connections:
                cells.append(Cell(len(cells) + 1, sender, receiver, count, loss))
    return cells


def chosen_peers(texts: Sequence[str]) -> list[str]:
    """The peers named on the command line; raises :class:`BadInput` for one that there is not."""
    for text in texts:
        if text not in PEERS:
            raise BadInput(
                "interop.no-such-peer",
                "--peer {peer}: there is no such peer; peers: {peers}",
                peer=text,
                peers=", ".join(PEERS),
            )
    return list(dict.fromkeys(texts)) or list(PEERS)


def chosen_connections(text: str) -> list[int]:
    """``1,4`` or ``1-4`` as numbers; raises :class:`BadInput`."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = [first, last if dash else first]
        if not all(end.strip().isdigit() for end in ends):
            raise BadInput(
                "interop.bad-connections",
                "--connections {text}: write numbers from 1 to {most_connections}, like 1,4 or 1-4",
                text=text,
                most_connections=MOST_CONNECTIONS,
            )
        found += range(int(ends[0]), int(ends[1]) + 1)
    if not found or min(found) < 1 or max(found) > MOST_CONNECTIONS:
        raise BadInput(
            "interop.connections-outside",
            "--connections {text}: the network has 1 to {most_connections} links",
            text=text,
            most_connections=MOST_CONNECTIONS,
        )
    return list(dict.fromkeys(found))
