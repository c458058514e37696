"""The testbed's own InfluxDB: started when it is needed, on the loopback address, with a password per role.

It needs no service manager and outlives the command that started it. Data and passwords are in
``/var/lib/ncp-testbed/influxdb/`` (``NCP_TESTBED_STATE`` moves it), shared by all checkouts.
"""

import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

import psutil
import requests
from influxdb import InfluxDBClient
from influxdb.exceptions import InfluxDBClientError, InfluxDBServerError

from testbed import paths
from testbed.errors import CannotRun
from testbed.services.influx import retention, run_list
from testbed.services.influx import state as influx_state
from testbed.services.influx.client import connect
from testbed.services.influx.endpoint import DATABASE, Endpoint, answers_within, external
from testbed.services.influx.state import State

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0
LOG_BYTES_KEPT = 4 << 20
LOCAL = ("127.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1")


class InfluxUnavailable(CannotRun):
    """InfluxDB is not installed, did not start, or does not let us in."""


class PortInUse(CannotRun):
    """Something that is not the testbed's InfluxDB listens on its port."""


@dataclass(frozen=True)
class Status:
    """The server on the port: ``external`` is the user's own, ``foreign`` somebody else's process."""

    state: Literal["running", "stopped", "foreign", "external"]
    url: str
    pid: int | None = None
    detail: str = ""


def ensure() -> Endpoint:
    """Return a server that answers and has the database and users, starting our own when needed.

    Raises:
        PortInUse: the port is held by something else.
        InfluxUnavailable: not installed, did not start, or refuses the login.
    """
    if own := external():
        _check_login(own, "NCP_TESTBED_INFLUX_USER and NCP_TESTBED_INFLUX_PASSWORD")
        return own
    state, port = State.here(), influx_state.port()
    user = state.prepare(port)
    with _locked(state):
        process = _process(state)
        if process is not None and not _listens(process, port):
            _end(process)  # it runs on the port of an earlier setting
            process = None
        if process is None:
            _check_port(port)
            _start(state, user)
        endpoint = Endpoint(f"http://127.0.0.1:{port}", DATABASE, state.logins())
        _wait_until_it_answers(state, endpoint)
        _make_users(state, endpoint)
        return endpoint


def stop() -> bool:
    """End our server, keeping its data; False when it was not running."""
    state = State.here()
    if not state.folder.exists():
        return False
    with _locked(state):
        process = _process(state)
        if process is None:
            return False
        _end(process)
        return True


def running() -> Endpoint | None:
    """The server that is up and whose logins this user may read; none is started."""
    return ensure() if status().state in ("running", "external") else None


def started_elsewhere() -> str:
    """Returns, in words, which other checkout started our server, or "" if this one did: all share it."""
    file = State.here().started_by
    by = file.read_text(encoding="utf-8") if file.is_file() and external() is None else str(paths.CHECKOUT)
    return "" if by == str(paths.CHECKOUT) else f", which {by} started"


def status() -> Status:
    """The server that would be used, without starting anything."""
    if own := external():
        return Status("external", own.url, detail="from NCP_TESTBED_INFLUX_URL")
    port = influx_state.port()
    url = f"http://127.0.0.1:{port}"
    process = _process(State.here())
    if process is not None and _listens(process, port):
        return Status("running", url, process.pid)
    if owner := _listener(port):
        return Status("foreign", url, detail=owner)
    return Status("stopped", url)


@contextmanager
def _locked(state: State) -> Iterator[None]:
    """Only one command at a time starts or stops the server."""
    with (state.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _process(state: State) -> psutil.Process | None:
    """Our running server. The pid alone proves nothing (it may be reused): the command line names our file."""
    try:
        process = psutil.Process(int(state.pid_file.read_text()))
        return process if str(state.configuration) in process.cmdline() else None
    except (OSError, ValueError, psutil.NoSuchProcess, psutil.AccessDenied):
        return None


def _listens(process: psutil.Process, port: int) -> bool:
    """Whether the configuration that the process was started with has this port, by what it listens on."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            ports = {c.laddr.port for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
        except psutil.NoSuchProcess:
            return False
        if port in ports:
            return True
        if len(ports) > 1:  # the backup service and another HTTP port
            return False
        time.sleep(0.05)
    return False


def _listener(port: int) -> str | None:
    """Name and pid of what listens on a port of the loopback or of every address."""
    for connection in psutil.net_connections("tcp"):
        address = connection.laddr
        if connection.status != psutil.CONN_LISTEN or not address or address.port != port or address.ip not in LOCAL:
            continue
        if connection.pid is None:
            return "another process (run as root to see which)"
        try:
            return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
        except psutil.NoSuchProcess:
            return f"pid {connection.pid}"
    return None


def _check_port(port: int) -> None:
    if owner := _listener(port):
        raise PortInUse(
            "influx.port-in-use",
            f"port {port} of 127.0.0.1, needed for InfluxDB, is held by {owner}",
            f"stop it, choose another port (NCP_TESTBED_INFLUX_PORT={port + 1}), or use a server of your own "
            "(NCP_TESTBED_INFLUX_URL)",
        )


def _refuse_other_line(version: str, what: str) -> None:
    """Raise where a version's text names another line than 1.x: from 2.0 on there is no InfluxQL by which databases,
    retention policies, continuous queries and users are made, nor one that drops a run's series."""
    if (line := re.search(r"\bv?(\d+)\.\d+", version)) and line[1] != "1":
        raise InfluxUnavailable(
            "influx.wrong-version",
            f"{what} is InfluxDB {line[0]}: the testbed needs the line 1.x, whose InfluxQL makes databases, retention "
            "policies and continuous queries",
            "install the package influxdb (1.x), or name a 1.x server of your own with NCP_TESTBED_INFLUX_URL",
        )


def _start(state: State, user: str | None) -> None:
    program = shutil.which("influxd")
    if program is None:
        raise InfluxUnavailable(
            "influx.not-installed",
            "influxd is not installed",
            "install the package influxdb (1.x), or name a server of your own with NCP_TESTBED_INFLUX_URL",
        )
    said = subprocess.run([program, "version"], capture_output=True, text=True, check=False)
    _refuse_other_line(said.stdout, program)
    if state.log.exists() and state.log.stat().st_size > LOG_BYTES_KEPT:
        state.log.unlink()
    state.pid_file.unlink(missing_ok=True)
    state.started_by.write_text(str(paths.CHECKOUT), encoding="utf-8")
    # setsid --fork: a session of its own, and init as its parent, so it outlives us and leaves no zombie.
    command = ["setsid", "--fork", program, "-config", str(state.configuration), "-pidfile", str(state.pid_file)]
    with state.log.open("ab") as log:
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            # It outlives its caller, whose variables are about other things; influxd takes its own from there, too.
            env={"PATH": os.environ.get("PATH", os.defpath)},
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )


def _wait_until_it_answers(state: State, endpoint: Endpoint) -> None:
    if answers_within(START_TIMEOUT_S, f"{endpoint.url}/ping"):
        return
    lines = state.log.read_text(errors="replace").splitlines()
    raise InfluxUnavailable(
        "influx.not-up",
        f"influxd did not answer at {endpoint.url} within {START_TIMEOUT_S:.0f} s: {(lines or ['no log'])[-1]}",
        f"its log: {state.log}",
    )


def _make_users(state: State, endpoint: Endpoint) -> None:
    """Make database and users if they are missing; the admin first, which a server without users allows."""
    admin, agent, reader = (endpoint.logins[role] for role in ("admin", "agent", "reader"))
    with connect(endpoint, "admin", timeout_s=10, retries=1) as client:
        try:
            names = {user["user"] for user in client.get_list_users()}
        except InfluxDBClientError as error:
            if error.code != HTTPStatus.FORBIDDEN:  # which a server without users says
                raise InfluxUnavailable(
                    "influx.login-refused",
                    f"the InfluxDB at {endpoint.url} refuses the login in {state.credentials}: {error.content}",
                    f"if the passwords are lost, end it and remove {state.folder} (its data goes with it)",
                ) from error
            client.create_user(admin.username, admin.password, admin=True)
            names = {admin.username}
        client.create_database(endpoint.database)
        _furnish(client, endpoint.database, shorten=True)
        for login, privilege in ((agent, "write"), (reader, "read")):
            if login.username not in names:
                client.create_user(login.username, login.password)
            client.grant_privilege(privilege, endpoint.database, login.username)


def _furnish(client: InfluxDBClient, database: str, *, shorten: bool) -> None:
    retention.set_up(client, database, shorten=shorten)
    client.write_points(run_list.before_the_first(), database=database, protocol="line")


def _check_login(endpoint: Endpoint, names: str) -> None:
    """Raise unless the user's own server answers, takes the login and has the database or lets us make it."""
    try:
        with connect(endpoint, "admin", timeout_s=10, retries=1) as client:
            _refuse_other_line(client.ping(), f"NCP_TESTBED_INFLUX_URL={endpoint.url}")
            present = {database["name"] for database in client.get_list_database()}
            if endpoint.database not in present:
                client.create_database(endpoint.database)
            _furnish(client, endpoint.database, shorten=endpoint.database not in present)
    except (InfluxDBClientError, InfluxDBServerError) as error:
        raise InfluxUnavailable("influx.refused", f"{endpoint.url} refuses: {error}", f"check {names}") from error
    except KeyError as error:  # no version
        raise InfluxUnavailable(
            "influx.not-influx",
            f"NCP_TESTBED_INFLUX_URL={endpoint.url} answers, but not as InfluxDB does: no header {error}",
            "name a server of InfluxDB 1.x, or unset the variable to use the testbed's own",
        ) from error
    except requests.RequestException as error:
        raise InfluxUnavailable(
            "influx.does-not-answer",
            f"NCP_TESTBED_INFLUX_URL={endpoint.url} does not answer: {error}",
            "start it, or unset the variable to use the testbed's own server",
        ) from error


def _end(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        for tell in (process.terminate, process.kill):
            tell()
            if _ends_within(process, STOP_TIMEOUT_S):
                return


def _ends_within(process: psutil.Process, timeout_s: float) -> bool:
    """Wait for its end. A zombie has ended: in a container nobody may be quick to reap it."""
    deadline = time.monotonic() + timeout_s
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
