"""iperf3 as all who start it start it, and what it leaves at its end when it is asked for JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed

PORT = 5201
"""Of the server; of several, the first one's."""
CLIENT_PORT = 5601
"""Where the data comes from, of several the first one's; iperf3's other connection, for control, has any."""


def server(port: int = PORT, *further: str) -> list[str]:
    """For one transfer."""
    return ["iperf3", "--server", "--one-off", "--port", str(port), *further]


def client(address: str, port: int = PORT, *further: str) -> list[str]:
    """Sends to a server."""
    return ["iperf3", "--client", address, "--port", str(port), *further]


def read_result(path: Path, name: str = "iperf3") -> dict[str, Any]:
    """Its document. Raises :class:`RunFailed` where it left none, or says in it what went wrong: with ``--json`` it
    ends with 0 whatever happened."""
    try:
        document: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise RunFailed(f"{name} left no result ({error}); see {path}") from error
    if document.get("error"):
        raise RunFailed(f"{name}: {document['error']}; see {path}")
    return document
