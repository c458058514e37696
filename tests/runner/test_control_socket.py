"""A refusal at a control socket is told by its code, by whichever client."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from testbed.errors import RunFailed
from testbed.remote.machine import Machine
from testbed.runtime import agents
from topologies.control_socket import Refused, request

ANSWERS = {
    "/state": (200, '{"state": "ready"}'),
    "/set": (404, json.dumps({"code": "request.unknown", "message": 'link: "x", want one of ["k"]'})),
    "/start": (409, json.dumps({"code": "request.conflict", "message": "the agent is waiting, not ready"})),
    "/text": (404, "404 page not found\n"),
    "/other": (500, '{"error": "of another program"}'),
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, body = ANSWERS[self.path]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    do_POST = do_GET  # noqa: N815

    def address_string(self) -> str:
        return "client"

    def log_message(self, *arguments: Any) -> None:
        """Nothing."""


@pytest.fixture
def socket(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "control.sock"
    with socketserver.UnixStreamServer(str(path), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield path
        server.shutdown()
        thread.join()


def test_an_answer_is_its_body(socket: Path) -> None:
    assert json.loads(request(socket, "GET", "/state")) == {"state": "ready"}


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        ("/set", "request.unknown", 'link: "x", want one of ["k"]'),
        ("/start", "request.conflict", "the agent is waiting, not ready"),
        ("/text", "request.failed", "404 404 page not found"),
        ("/other", "request.failed", '500 {"error": "of another program"}'),
    ],
)
def test_a_refusal_has_a_code(socket: Path, target: str, code: str, message: str) -> None:
    with pytest.raises(Refused) as refused:
        request(socket, "POST", target, {})
    assert (refused.value.code, str(refused.value)) == (code, message)


def test_nobody_there_is_no_refusal(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        request(tmp_path / "none.sock", "GET", "/state")


def test_agents_and_machines_hand_the_code_on(socket: Path) -> None:
    place = SimpleNamespace(control=socket.parent, name="s1-sender", ahead_ns=0)
    with pytest.raises(RunFailed) as refused:
        agents.control(cast("agents.AgentPlace", place), "POST", "/start")
    assert cast("Refused", refused.value.__cause__).code == "request.conflict"
    machine = object.__new__(Machine)
    machine.__dict__.update({"name": "m1", "own": socket.parent})
    with pytest.raises(RunFailed) as refused:
        machine.ask("POST", "/set", {}, socket=socket.name)
    assert refused.value.code == "host.refused"
    assert cast("Refused", refused.value.__cause__).code == "request.unknown"
