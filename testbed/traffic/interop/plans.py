"""Plans: one for the network of each loss, and from it two for each pairing, one per end."""

from __future__ import annotations

import copy
import json
import subprocess
from typing import Any

from testbed import paths
from testbed.plan.model import Plan, Role
from testbed.scenario.load import LoadedScenario, load
from testbed.traffic.interop.pairings import PEERS, Pairing

FOLDER = paths.CHECKOUT / "peers" / "npm-ncp"
NETWORK = FOLDER / "network.yaml"

FIRST_PORT = 31001
PORTS_EACH = 10


def load_network(assignments: list[str], *, loss: float, quick: bool) -> LoadedScenario:
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


def versions() -> dict[str, Any]:
    """Versions of Node and the capturing program, and the integrity of each package by the lock file."""
    lock = json.loads((FOLDER / "package-lock.json").read_text())["packages"]
    return {
        "node": _version_of("node"),
        "tcpdump": _version_of("tcpdump"),
        "packages": {
            name: {key: lock[f"node_modules/{package}"][key] for key in ("name", "version", "integrity")}
            for name, package in PEERS.items()
        },
    }


def _version_of(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return ((done.stdout or done.stderr).strip().splitlines() or ["not known"])[0]
