"""InfluxDB's address and credentials."""

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import requests

from testbed.errors import BadInput

DATABASE = "ncp_testbed"

Role = Literal["admin", "agent", "reader"]
"""``admin`` may do all, ``agent`` only write to the database, ``reader`` only read from it."""

ROLES: tuple[Role, ...] = ("admin", "agent", "reader")


@dataclass(frozen=True)
class Login:
    """One user of the server; the JSON of ``--credentials`` has the same two fields."""

    username: str
    password: str = field(repr=False)

    def write(self, path: Path) -> None:
        """Write the file that ``ncp-agent --credentials`` reads, for its owner only."""
        write_secret(path, json.dumps(asdict(self)))


@dataclass(frozen=True)
class Endpoint:
    """A server that answers: its URL, database and a login per role."""

    url: str
    database: str
    logins: dict[Role, Login]


def external() -> Endpoint | None:
    """The user's own server, from ``NCP_TESTBED_INFLUX_URL``, ``_USER`` and ``_PASSWORD``; None when not set.

    Raises:
        BadInput: the URL is not ``http://host:port`` or ``https://host:port``.
    """
    url = os.environ.get("NCP_TESTBED_INFLUX_URL", "")
    if not url:
        return None
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number
        valid = False
    if not valid:
        raise BadInput("influx.bad-url", f"NCP_TESTBED_INFLUX_URL={url}: should be like http://host:8086")
    login = Login(os.environ.get("NCP_TESTBED_INFLUX_USER", ""), os.environ.get("NCP_TESTBED_INFLUX_PASSWORD", ""))
    return Endpoint(url, DATABASE, dict.fromkeys(ROLES, login))


def write_secret(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def port_of(variable: str, default: int) -> int:
    """The port that an environment variable names.

    Raises:
        BadInput: not a number from 1 to 65535.
    """
    text = os.environ.get(variable, str(default))
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise BadInput("service.bad-port", f"{variable}={text}: should be a port number from 1 to 65535")
    return int(text)


def answers_within(timeout_s: float, url: str) -> bool:
    """Whether a server answers, waiting for that."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with suppress(requests.RequestException):
            if requests.get(url, timeout=2).ok:
                return True
        time.sleep(0.05)
    return False
