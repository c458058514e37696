"""Our InfluxDB: loopback only, a password per role, data that survives a restart, clear errors."""

import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import psutil
import pytest
import requests

from testbed import paths
from testbed.cli import machine
from testbed.errors import BadInput
from testbed.exit_codes import Exit
from testbed.services import compose
from testbed.services.influx import server as influx
from testbed.services.influx.client import Client, QueryFailed
from testbed.services.influx.endpoint import Endpoint, external
from testbed.services.influx.reader import FromInflux
from testbed.services.influx.state import SERVICE_USER
from tests.ports import held_port
from tests.raises import Containing, raises

pytestmark = pytest.mark.root

NOW = time.time_ns()
"""The database keeps what is of the present."""


def server_process() -> psutil.Process:
    status = influx.status()
    assert status.state == "running"
    return psutil.Process(status.pid)


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_a_query_without_a_password_is_refused(endpoint: Endpoint) -> None:
    answer = requests.get(f"{endpoint.url}/query", params={"q": "SHOW DATABASES"}, timeout=5)
    assert answer.status_code == 401


def test_it_listens_on_the_loopback_address_only(endpoint: Endpoint) -> None:
    listening = [c.laddr for c in server_process().net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert urlsplit(endpoint.url).port in {address.port for address in listening}
    assert {address.ip for address in listening} == {"127.0.0.1"}


def test_it_runs_as_an_unprivileged_user_and_not_as_our_child(endpoint: Endpoint) -> None:
    process = server_process()
    assert process.username() == SERVICE_USER
    assert os.getpid() not in {parent.pid for parent in process.parents()}
    assert os.getsid(process.pid) != os.getsid(0)


def test_passwords_are_readable_by_their_owner_only(endpoint: Endpoint, influx_state: Path) -> None:
    credentials = influx_state / "influxdb" / "credentials.json"
    assert stat.S_IMODE(credentials.stat().st_mode) == 0o600
    passwords = [login["password"] for login in json.loads(credentials.read_text()).values()]
    assert len(set(passwords)) == 3
    assert min(map(len, passwords)) >= 32


def test_the_agent_may_write_but_not_read_and_the_reader_the_reverse(endpoint: Endpoint) -> None:
    with Client(endpoint, "agent") as agent, Client(endpoint, "reader") as reader:
        agent.write([f"link,run=r1 backlog_bytes=5i {NOW}"])
        with pytest.raises(QueryFailed, match="requires READ"):
            agent.query("SELECT * FROM link")
        with pytest.raises(QueryFailed, match="not authorized to write"):
            reader.write([f"link,run=r1 backlog_bytes=6i {NOW + 1}"])
        (series,) = reader.query("SELECT backlog_bytes FROM link")
    assert series.columns == {"time": [NOW], "backlog_bytes": [5]}


def test_the_agent_can_write_to_no_other_database(endpoint: Endpoint) -> None:
    admin, agent = endpoint.logins["admin"], endpoint.logins["agent"]
    created = requests.post(
        f"{endpoint.url}/query", params={"q": "CREATE DATABASE other"}, auth=(admin.username, admin.password), timeout=5
    )
    assert created.ok
    answer = requests.post(
        f"{endpoint.url}/write",
        params={"db": "other"},
        data="link v=1",
        auth=(agent.username, agent.password),
        timeout=5,
    )
    assert answer.status_code == 403


def test_ensuring_twice_keeps_the_process(endpoint: Endpoint) -> None:
    first = server_process().pid
    assert influx.ensure() == endpoint
    assert server_process().pid == first


def test_a_server_that_another_checkout_started_is_said_to_be(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    influx.stop()
    assert influx.ensure() == endpoint
    assert influx.started_elsewhere() == ""
    here = paths.CHECKOUT
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)
    assert influx.started_elsewhere() == f", which {here} started"
    monkeypatch.setattr(compose, "stop", lambda: False)  # which would be a Grafana of this machine
    machine.down()
    assert f"InfluxDB stopped, which {here} started" in capsys.readouterr().out


def test_stop_and_restart_keep_data_and_passwords(endpoint: Endpoint) -> None:
    with Client(endpoint, "agent") as agent:
        agent.write([f"link,run=r1 backlog_bytes=5i {NOW}"])
    process = server_process()
    assert influx.stop()
    assert has_ended(process)
    assert influx.status().state == "stopped"
    assert not influx.stop()
    again = influx.ensure()
    assert again == endpoint
    with Client(again, "reader") as reader:
        assert FromInflux(reader, "r1").count_points() == 1


def test_a_killed_server_is_started_again(endpoint: Endpoint) -> None:
    process = server_process()
    process.kill()
    process.wait(10)  # until then its port is held by nobody who can be seen
    influx.ensure()
    assert server_process().pid != process.pid


def test_another_port_moves_the_server(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    with held_port() as other:
        process = server_process()
        monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", str(other))
        assert urlsplit(influx.ensure().url).port == other
        assert has_ended(process)


def test_a_port_held_by_another_process_is_named_with_the_fix(influx_state: Path, free_port: int) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", free_port))
        other.listen()
        assert influx.status().state == "foreign"
        with raises(influx.PortInUse, "influx.port-in-use", port=free_port) as raised:
            influx.ensure()
    assert raised.value.exit_code == Exit.CANNOT_RUN
    assert f"(pid {os.getpid()})" in raised.value.message
    assert f"NCP_TESTBED_INFLUX_PORT={free_port + 1}" in raised.value.hint


def test_the_pid_of_another_process_is_not_taken_for_ours(endpoint: Endpoint, influx_state: Path) -> None:
    pid_file = influx_state / "influxdb" / "data" / "influxd.pid"
    pid = pid_file.read_text()
    pid_file.write_text(str(os.getpid()))
    assert not influx.stop()  # or it would have ended this test
    pid_file.write_text(pid)


def test_lost_passwords_are_told_not_overwritten(endpoint: Endpoint, influx_state: Path) -> None:
    (influx_state / "influxdb" / "credentials.json").unlink()
    with raises(influx.InfluxUnavailable, "influx.login-refused"):
        influx.ensure()


def test_without_influxd_the_message_says_what_to_do(influx_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with raises(influx.InfluxUnavailable, "influx.not-installed") as raised:
        influx.ensure()
    assert "NCP_TESTBED_INFLUX_URL" in raised.value.hint


@pytest.fixture
def answers() -> dict[str, str]:
    """The headers of the answer to a ping of InfluxDB 2.10.0."""
    return {"X-Influxdb-Build": "OSS", "X-Influxdb-Version": "v2.10.0"}


@pytest.fixture
def of_another_line(free_port: int, answers: dict[str, str]) -> Iterator[str]:
    """The URL of a server that answers so."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(204)
            for name, value in answers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", free_port), Answer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{free_port}"
        server.shutdown()
        thread.join()


def test_another_line_than_1x_is_refused_by_its_name(
    of_another_line: str, answers: dict[str, str], influx_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCP_TESTBED_INFLUX_URL", of_another_line)
    with raises(influx.InfluxUnavailable, "influx.wrong-version", what=Containing(of_another_line), version="v2.10"):
        influx.ensure()
    answers.clear()
    with raises(influx.InfluxUnavailable, "influx.not-influx", url=of_another_line):
        influx.ensure()
    monkeypatch.delenv("NCP_TESTBED_INFLUX_URL")
    (program := tmp_path / "influxd").write_text("#!/bin/sh\necho 'InfluxDB v2.7.12 (git: ec9dcde5d6) build_date: x'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18087")
    with raises(influx.InfluxUnavailable, "influx.wrong-version", what=str(program), version="v2.7"):
        influx.ensure()


def test_a_server_of_the_users_own_is_used_with_its_login(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = endpoint.logins["admin"]
    monkeypatch.setenv("NCP_TESTBED_INFLUX_URL", endpoint.url)
    monkeypatch.setenv("NCP_TESTBED_INFLUX_USER", admin.username)
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PASSWORD", admin.password)
    assert influx.ensure().logins["reader"] == admin
    assert influx.status().state == "external"
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PASSWORD", "wrong")
    with pytest.raises(influx.InfluxUnavailable, match="authorization failed"):
        influx.ensure()
    monkeypatch.delenv("NCP_TESTBED_INFLUX_URL")


@pytest.mark.parametrize("port", ["", "0", "65536", "80x", "-1"])
def test_a_bad_port_is_bad_input(monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", port)
    with raises(BadInput, "service.bad-port", variable="NCP_TESTBED_INFLUX_PORT", port=port):
        influx.status()


@pytest.mark.parametrize("url", ["localhost:8086", "ftp://h", "http://", "http://h:port"])
def test_a_bad_url_is_bad_input(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("NCP_TESTBED_INFLUX_URL", url)
    with raises(BadInput, "influx.bad-url"):
        external()
