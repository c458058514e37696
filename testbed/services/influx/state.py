"""The folder of the testbed's own InfluxDB: configuration, data, generated credentials, log."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
from dataclasses import asdict
from pathlib import Path

from testbed.errors import CannotRun
from testbed.services.influx.endpoint import ROLES, Login, Role, port_of, write_secret

SERVICE_USER = "influxdb"  # made by Debian's package; unprivileged

CONFIGURATION = Path(__file__).with_name("influxdb.conf")
"""The configuration, with places for the state's folder and the port."""


def port() -> int:
    """Port of the HTTP API; BadInput for no port."""
    return port_of("NCP_TESTBED_INFLUX_PORT", 8086)


class State:
    """Paths below the state folder (``NCP_TESTBED_STATE``, else ``/var/lib/ncp-testbed``)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.configuration = folder / "influxdb.conf"
        self.credentials = folder / "credentials.json"
        self.log = folder / "influxd.log"
        self.data = folder / "data"
        """All that the server writes itself; its user's own."""
        self.pid_file = self.data / "influxd.pid"
        self.started_by = folder / "started-by"
        """The checkout that started the server."""

    @staticmethod
    def here() -> State:
        """The state that the environment names."""
        return State(Path(os.environ.get("NCP_TESTBED_STATE", "/var/lib/ncp-testbed")).resolve() / "influxdb")

    def prepare(self, port: int) -> str | None:
        """Make the folders and the configuration; return the user to run as (None: the present one).

        Raises:
            CannotRun: the folder can't be made.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.data.mkdir(mode=0o700, exist_ok=True)
            self.configuration.write_text(CONFIGURATION.read_text().format(folder=self.folder, port=port))
        except OSError as error:
            raise CannotRun(
                "influx.no-state-folder",
                f"InfluxDB's state folder: {error.strerror}: {error.filename}",
                "run as root, or name a folder of your own with NCP_TESTBED_STATE",
            ) from error
        user = service_user()
        if user is not None and self.data.owner() != user:
            shutil.chown(self.data, user, user)
        return user

    def logins(self) -> dict[Role, Login]:
        """The generated logins; made and stored (mode 0600) when there are none yet."""
        if self.credentials.exists():
            stored = json.loads(self.credentials.read_text())
            return {role: Login(**stored[role]) for role in ROLES}
        logins = {role: Login(role, secrets.token_urlsafe(24)) for role in ROLES}
        write_secret(self.credentials, json.dumps({role: asdict(login) for role, login in logins.items()}, indent=2))
        return logins


def service_user() -> str | None:
    """The unprivileged user to run as; None when we are not root or there is no such user."""
    try:
        pwd.getpwnam(SERVICE_USER)
    except KeyError:
        return None
    return SERVICE_USER if os.geteuid() == 0 else None
