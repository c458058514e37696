"""Plans of the matrix: one for the network of each loss, and from it two for each cell, one per end."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

from testbed import paths
from testbed.documents import write_json
from testbed.plan.model import Plan
from testbed.scenario.load import LoadedScenario, load
from testbed.study.interop.cells import Cell

FOLDER = paths.CHECKOUT / "peers" / "npm-ncp"
NETWORK = FOLDER / "network.yaml"

FIRST_PORT = 31001
PORTS_PER_CELL = 10


def load_network(assignments: list[str], *, loss: float, quick: bool) -> LoadedScenario:
    """The scenario of the network with one loss on all its links; raises :class:`BadInput`."""
    # What the user sets comes last, so that it holds.
    names = [link.name for link in load(str(NETWORK)).scenario.links]
    lossy = [f"links.{name}.loss={loss * 100:g}%" for name in names] if loss else []
    return load(str(NETWORK), [*lossy, *assignments], quick=quick)


@dataclass(frozen=True)
class CellPlans:
    """The plans of the two ends. The receiver offers a smaller window and smaller packets than the sender, so
    that both have to come to the smaller ones."""

    sender: Plan
    receiver: Plan

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Files for the ends."""
        files = folder / "sender-plan.json", folder / "receiver-plan.json"
        for file, plan in zip(files, (self.sender, self.receiver), strict=True):
            write_json(file, plan)
        return files


def cell_plans(network: Plan, cell: Cell) -> CellPlans:
    """One cell's session over the first of the network's links, with ports of its own."""
    sender = copy.deepcopy(network)
    [session] = sender["sessions"]
    session["name"] = cell.session
    session["connections"] = session["connections"][: cell.connections]
    for connection in session["connections"]:
        port = FIRST_PORT + PORTS_PER_CELL * cell.number + connection["index"]
        for end in ("sender", "receiver"):
            connection[end] = f"{connection[end].rsplit(':', 1)[0]}:{port}"
    receiver = copy.deepcopy(sender)
    [theirs] = receiver["sessions"]
    theirs["send_window_bytes"] = session["send_window_bytes"] * 3 // 4
    theirs["mtu_bytes"] = session["mtu_bytes"] - 24
    return CellPlans(sender, receiver)
