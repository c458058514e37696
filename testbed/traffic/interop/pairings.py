"""Pairings of implementations that exchange a transfer, over a number of connections, with a loss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from testbed.errors import BadInput
from testbed.message import unknown
from topologies.units import UnitError, parse_fraction

OURS = "ours"
PEERS = {"1.0.9": "ncp-1.0.9", "1.1.2": "ncp-1.1.2"}
"""npm's implementations by version: the name of each in ``peers/npm-ncp/package.json``."""
LATEST = "1.1.2"
MOST_CONNECTIONS = 4
HIGHEST_LOSS = 0.2


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
        """The pairing for people."""
        connections = f"{self.connections} connection{'s' if self.connections > 1 else ''}"
        return f"{self.sender} → {self.receiver}, {connections}, {loss_words(self.loss)}"


def loss_words(loss: float) -> str:
    """``clean`` or ``1% loss``."""
    return f"{loss * 100:g}% loss" if loss else "clean"


def matrix(
    peers: Sequence[str], connections: Sequence[int], losses: Sequence[float], *, references: bool = False
) -> list[Pairing]:
    """Ours and each peer both ways, those of one loss together, as they share a network; ``references``: also ours and
    the latest peer with themselves."""
    who = [pair for peer in peers for pair in ((OURS, peer), (peer, OURS))]
    who += [(OURS, OURS), (LATEST, LATEST)] if references else []
    cells = [(*pair, count, loss) for loss in losses for pair in who for count in connections]
    return [Pairing(number, *cell) for number, cell in enumerate(cells, start=1)]


def peers_of(texts: Sequence[str]) -> list[str]:
    """The peers named on the command line, all without any; raises :class:`BadInput` for one that there is not."""
    for text in texts:
        if text not in PEERS:
            raise BadInput.of(unknown("interop.no-such-peer", "peer", text, PEERS).at("--peer"))
    return list(dict.fromkeys(texts)) or list(PEERS)


def connections_of(text: str) -> list[int]:
    """``1,4`` or ``1-4`` as numbers; raises :class:`BadInput`."""
    parts = [re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part) for part in text.split(",")]
    found = [number for part in parts if part for number in range(int(part[1]), int(part[2] or part[1]) + 1)]
    if None in parts:
        raise BadInput(
            "interop.bad-connections",
            f"--connections {text}: write numbers from 1 to {MOST_CONNECTIONS}, like 1,4 or 1-4",
        )
    if not found or min(found) < 1 or max(found) > MOST_CONNECTIONS:
        raise BadInput(
            "interop.connections-outside", f"--connections {text}: the network has 1 to {MOST_CONNECTIONS} links"
        )
    return list(dict.fromkeys(found))


def losses_of(text: str) -> list[float]:
    """``0%,1%`` as fractions; raises :class:`BadInput`."""
    found = []
    for part in text.split(","):
        try:
            found.append(parse_fraction(part.strip()))
        except UnitError as error:
            raise BadInput("interop.bad-loss", f"--loss {text}: {error}") from error
        if not 0 <= found[-1] <= HIGHEST_LOSS:
            raise BadInput(
                "interop.loss-outside", f"--loss {text}: {part} is outside 0% to 20%, which TCP can still cope with"
            )
    return list(dict.fromkeys(found))
