"""Requests at the control sockets of agents, the relay and ``ncp-far``: HTTP over a Unix socket (docs/contracts.md)."""

import http.client
import json
import socket
from pathlib import Path

ANSWER_S = 5.0


class Refused(ValueError):
    """A request that was refused; programs decide by ``code`` (docs/contracts.md), the text is for readers."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def request(path: Path, method: str, target: str, body: object = None, *, timeout_s: float = ANSWER_S) -> bytes:
    """The answer of the program that listens at ``path``.

    Raises:
        OSError: nothing answers, or not HTTP.
        Refused: the program refused it.
    """
    connection = _UnixConnection(path, timeout_s)
    try:
        connection.request(method, target, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        text = answer.read()
    except http.client.HTTPException as error:
        raise OSError(f"{path.name} answered badly: {error}") from error
    finally:
        connection.close()
    if answer.status != http.HTTPStatus.OK:
        raise _refusal(answer.status, text)
    return text


def _refusal(status: int, text: bytes) -> Refused:
    try:
        document = json.loads(text)
        return Refused(document["code"], document["message"])
    except (ValueError, TypeError, KeyError):  # by Go's library itself, or another program
        return Refused("request.failed", f"{status} {text.decode(errors='replace').strip()}")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))
