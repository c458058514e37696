"""Pairings of implementations that exchange a transfer, over a number of connections, with a loss; and their plans:
one for the network of each loss, and from it two for each pairing, one per end."""

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass

from testbed.errors import BadInput, refuse_unknown
from testbed.plan.codes import CODES, FOLDER, OURS
from testbed.plan.model import Plan, Role
from testbed.scenario.load import LoadedScenario, load
from topologies.units import UnitError, parse_share

PEERS = [code.removeprefix("npm-") for code in CODES if code != OURS]
"""npm's implementations by version."""
LATEST = "1.1.2"
MOST_CONNECTIONS = 4
HIGHEST_LOSS = 0.2
NETWORK = FOLDER / "network.yaml"
FIRST_PORT = 31001
PORTS_EACH = 10


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
    """The peers named on the command line, all without any; raises :class:`BadInput` for one of another name."""
    for text in texts:
        refuse_unknown("interop.no-such-peer", "peer", text, PEERS, "--peer")
    return list(dict.fromkeys(texts)) or list(PEERS)


def connections_of(text: str) -> list[int]:
    """``1,4`` or ``1-4`` as numbers; raises :class:`BadInput`."""
    parts = [re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part) for part in text.split(",")]
    found = [number for part in parts if part for number in range(int(part[1]), int(part[2] or part[1]) + 1)]
    if None in parts or not found or min(found) < 1 or max(found) > MOST_CONNECTIONS:
        raise BadInput(
            "interop.bad-connections",
            f"--connections {text}: should be numbers from 1 to {MOST_CONNECTIONS}, like 1,4 or 1-4",
        )
    return list(dict.fromkeys(found))


def losses_of(text: str) -> list[float]:
    """``0%,1%`` as fractions; raises :class:`BadInput`."""
    try:
        found = [parse_share(part.strip()) for part in text.split(",")]
    except UnitError as error:
        raise BadInput("interop.bad-loss", f"--loss {text}: {error}") from error
    if not all(0 <= loss <= HIGHEST_LOSS for loss in found):
        raise BadInput("interop.loss-outside", f"--loss {text}: should be 0% to 20%, which TCP can still cope with")
    return list(dict.fromkeys(found))


def load_network(assignments: Sequence[str], *, loss: float, quick: bool) -> LoadedScenario:
    """The scenario of the network with one loss on all its links; raises :class:`BadInput`."""
    # What the user sets comes last, so that it holds.
    names = [link.name for link in load(str(NETWORK)).scenario.links]
    lossy = [f"links.{name}.loss={loss * 100:g}%" for name in names] if loss else []
    return load(str(NETWORK), [*lossy, *assignments], quick=quick)


def pairing_plans(network: Plan, pairing: Pairing) -> dict[Role, Plan]:
    """One pairing's session over the first of the network's links, with ports of its own, as each end has it. The
    receiver offers a smaller window and smaller packets than the sender, so that both have to come to the smaller."""
    sender = copy.deepcopy(network)
    [session] = sender["sessions"]
    session["name"] = pairing.session
    code: dict[Role, str] = {"sender": pairing.sender, "receiver": pairing.receiver}
    session["code"] = {end: f"npm-{version}" for end, version in code.items() if version != OURS}
    session["connections"] = session["connections"][: pairing.connections]
    for connection in session["connections"]:
        port = FIRST_PORT + PORTS_EACH * pairing.number + connection["index"]
        for end in ("sender", "receiver"):
            connection[end] = f"{connection[end].rsplit(':', 1)[0]}:{port}"
    receiver = copy.deepcopy(sender)
    [theirs] = receiver["sessions"]
    theirs["send_window_bytes"] = session["send_window_bytes"] * 3 // 4
    theirs["mtu_bytes"] = session["mtu_bytes"] - 24
    return {"sender": sender, "receiver": receiver}
