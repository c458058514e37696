"""Commands of iperf3, and the JSON that it leaves at its end."""

import json
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed
from testbed.scenario.tcp import Iperf3

PORT, CLIENT_PORT = Iperf3.receiver_port, Iperf3.sender_port
"""Ports of the server, and of the data connection at the client; of several flows, of the first."""


def server(port: int = PORT, *further: str) -> list[str]:
    """The command of a server for one transfer."""
    return ["iperf3", "--server", "--one-off", "--port", str(port), *further]


def client(address: str, port: int = PORT, *further: str) -> list[str]:
    """The command of a client that sends to a server."""
    return ["iperf3", "--client", address, "--port", str(port), *further]


def read_result(path: Path, name: str = "iperf3") -> dict[str, Any]:
    """The document that iperf3 left. Raises :class:`RunFailed` where it left none, or one with an error: with
    ``--json`` it ends with 0 whatever happened."""
    try:
        document: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise RunFailed("iperf3.no-result", f"{name} left no result ({error}); see {path}") from error
    if document.get("error"):
        raise RunFailed("iperf3.failed-in-run", f"{name}: {document['error']}; see {path}")
    return document
