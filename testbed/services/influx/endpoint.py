"""InfluxDB's address and credentials."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

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
        secret = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(secret, "w") as file:
            json.dump({"username": self.username, "password": self.password}, file)


@dataclass(frozen=True)
class Endpoint:
    """A server that answers: its URL, database and a login per role."""

    url: str
    database: str
    logins: dict[Role, Login]

    @property
    def host(self) -> str:
        """Name or address in the URL."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """Port in the URL, 8086 if it has none."""
        return urlsplit(self.url).port or 8086


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
        raise BadInput("influx.bad-url", "NCP_TESTBED_INFLUX_URL={url}: should be like http://host:8086", url=url)
    login = Login(os.environ.get("NCP_TESTBED_INFLUX_USER", ""), os.environ.get("NCP_TESTBED_INFLUX_PASSWORD", ""))
    return Endpoint(url, DATABASE, dict.fromkeys(ROLES, login))
