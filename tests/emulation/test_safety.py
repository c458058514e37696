"""What a run that is on shows of itself: what its agents may do, what they can reach, and where secrets are."""

import json
import re
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.runtime import live
from testbed.runtime.processes import AGENT_UID
from testbed.services.influx import server as influx
from testbed.services.influx.state import State, port
from tests.emulation.conftest import Started, agent_containers
from tests.emulation.faults import SHORT, Start, pids, run_of

pytestmark = pytest.mark.packets

REACH = """
import json, socket, sys
def reached(address, port):
    try:
        socket.create_connection((address, port), timeout=1).close()
    except ConnectionRefusedError:
        return "refused"
    except OSError as error:
        return type(error).__name__ if isinstance(error, TimeoutError) else error.strerror
    return "reached"
print(json.dumps([reached(address, port) for address, port in json.loads(sys.argv[1])]))
"""


def reached(pid: int, *places: tuple[str, int]) -> list[str]:
    """What becomes of TCP connections to these, from the network namespace of a process."""
    command = ["nsenter", f"--net=/proc/{pid}/ns/net", "--", "python3", "-c", REACH, json.dumps(places)]
    found: list[str] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def addresses(pid: int) -> dict[str, str]:
    """The IPv4 address of each interface."""
    command = ["nsenter", f"--net=/proc/{pid}/ns/net", "--", "ip", "-j", "-4", "address"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {one["ifname"]: one["addr_info"][0]["local"] for one in said if one["addr_info"]}


def open_to_others(secret: Path) -> bool:
    """Whether somebody else than its owner may read a file, or its group where that is the agents'."""
    found = secret.stat()
    may = found.st_mode & (stat.S_IRWXO | (0 if found.st_gid == AGENT_UID else stat.S_IRWXG))
    return bool(may)


def command_lines() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes().decode(errors="replace")
        except OSError:
            continue


def secrets_of(folder: Path) -> list[str]:
    logins: dict[str, Any] = json.loads((folder / "credentials.json").read_text())
    return [login["password"] for login in logins.values()]


def nobody_has_more_than_it_needs(pid: int) -> None:
    said = status(pid)
    assert {said[name] for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {"0" * 16}, said
    assert said["NoNewPrivs"] == "1"
    assert set(said["Uid"].split()) == set(said["Gid"].split()) == {str(AGENT_UID)}
    assert said["Groups"] in ("", str(AGENT_UID))


def test_a_run_with_containers(start: Start, tmp_path: Path) -> None:
    run = start(*(word if word != "process" else "docker" for word in SHORT))
    run.await_transfer()
    agents = agent_containers()
    assert len(agents) == 2
    for agent in agents:
        pid = agent.attrs["State"]["Pid"]
        nobody_has_more_than_it_needs(pid)
        said, host = status(pid), agent.attrs["HostConfig"]
        assert (said["CapBnd"], said["Seccomp"]) == ("0" * 16, "2"), "no capability to be had, and a filter of calls"
        assert (host["Privileged"], host["ReadonlyRootfs"], host["CapDrop"]) == (False, True, ["ALL"])
        assert host["Memory"] == host["MemorySwap"] == 1 << 30
        assert host["PidsLimit"] == 256
        assert not host["CapAdd"]
        assert not host["Devices"]
        assert {mount["Destination"]: mount["RW"] for mount in agent.attrs["Mounts"]} == {
            "/plan.json": False,
            "/credentials.json": False,
            "/data": True,
            "/control": True,
        }
    management_leads_to_the_gateway_alone(agents[0].attrs["State"]["Pid"])
    secrets_are_kept(run, tmp_path)


def management_leads_to_the_gateway_alone(pid: int) -> None:
    """``pid`` is in a host's namespace."""
    own = addresses(pid)
    gateway, outside = "198.19.0.1", "192.0.2.1"  # RFC 5737: nobody's
    assert {name for name in own if name != "lo"} == {"mgmt0", *(name for name in own if "-eth" in name)}
    assert reached(pid, (gateway, 8086), (gateway, 22), ("127.0.0.1", port())) == ["reached", "refused", "refused"]
    machines = [
        line.split()[3].split("/")[0]
        for line in subprocess.run(
            ["ip", "-o", "-4", "address", "show", "scope", "global"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    ]
    for address in (outside, *machines):
        assert reached(pid, (address, 80)) == ["Network is unreachable"], address
    command = ["nsenter", f"--net=/proc/{pid}/ns/net", "--", "ip", "-j", "route"]
    routes = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [route["dst"] for route in routes if route["dev"] == "mgmt0"] == ["198.19.0.0/24"]
    assert all(route["dst"].startswith("198.18.") for route in routes if route["dev"] != "mgmt0"), routes


def secrets_are_kept(run: Started, tmp_path: Path) -> None:
    """Until its end, and in all that it leaves."""
    state = State.here()
    secrets = secrets_of(state.folder)
    assert all(len(secret) >= 32 for secret in secrets)
    own = live.directory(run_of(tmp_path))
    assert not [path for path in (state.credentials, *own.rglob("*credentials*")) if open_to_others(path)]
    seen = 0
    while run.process.poll() is None:
        for line in command_lines():
            seen += 1
            assert not [secret for secret in secrets if secret in line], line
        time.sleep(0.2)
    assert seen
    code, out, err = run.end()
    assert code in (0, 1, 3), out + err
    texts = [*(path for path in (tmp_path / "results").rglob("*") if path.is_file()), state.log]
    assert len(texts) > 10
    for text in texts:
        assert not [secret for secret in secrets if secret.encode() in text.read_bytes()], text
    assert not [secret for secret in secrets if secret in out + err]


@pytest.mark.nightly
def test_a_run_with_processes(start: Start, tmp_path: Path) -> None:
    run = start(*SHORT)
    run.await_transfer()
    for role in ("sender", "receiver"):
        (pid,) = pids(run_of(tmp_path), "ncp-agent", role)
        nobody_has_more_than_it_needs(pid)
        limits = Path(f"/proc/{pid}/limits").read_text()
        assert re.search(rf"^Max data size +{1 << 30} +{1 << 30} ", limits, re.MULTILINE), limits
        assert re.search(r"^Max core file size +0 +0 ", limits, re.MULTILINE), limits
    run.end()


def test_services_listen_on_the_loopback_address_alone() -> None:
    influx.ensure()
    said = subprocess.run(["ss", "-Hltn", f"sport = :{port()}"], capture_output=True, text=True, check=True).stdout
    assert [line.split()[3] for line in said.splitlines()] == [f"127.0.0.1:{port()}"]
