"""What keeps a cluster's services on, by systemd and without it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import paths
from tests.cluster.loopback import until
from tests.cluster.machines import Machine, Machines, machines, why_not

pytestmark = [
    pytest.mark.packets,
    pytest.mark.nightly,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for network namespaces"),
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]
SERVICE = (paths.CHECKOUT / "playbooks" / "files" / "cluster-service").read_text()
STATE = "/var/lib/ncp-testbed/cluster"
RUN = """\
#!/bin/sh
echo begun {word}
setsid sleep 1{word} &
exec sleep 2{word}
"""
"""A service with a process that has left its session."""


@pytest.fixture(scope="module")
def pair() -> Iterator[Machines]:
    folder = Path(tempfile.mkdtemp(prefix="ncp-service-", dir="/var/tmp"))
    try:
        with machines(2, folder, systemd=1) as made:
            for machine in made.each:
                done(made, machine, f"mkdir -p {STATE}; cat >{STATE}/service; chmod 755 {STATE}/service", SERVICE)
            yield made
    finally:
        shutil.rmtree(folder)


def done(made: Machines, machine: Machine, command: str, given: str = "") -> str:
    """What a command on a machine says, which has to end well."""
    called = made.ssh(machine, command, given)
    assert called.returncode == 0, called.stderr
    return called.stdout.strip()


@pytest.mark.parametrize("number", [0, 1], ids=["without", "by systemd"])
def test_a_service_is_kept_on_until_it_is_stopped(pair: Machines, number: int) -> None:
    machine = pair.each[number]

    def service(verb: str) -> str:
        return done(pair, machine, f"{STATE}/service {verb} worker")

    def write(word: str) -> None:
        done(pair, machine, f"cat >{STATE}/worker.run; chmod 700 {STATE}/worker.run", RUN.format(word=word))

    def begun() -> list[str]:
        return done(pair, machine, f"grep ^begun {STATE}/worker.log").splitlines()

    def on(word: str) -> list[str]:
        """Process ids of the service's own process."""
        return pair.ssh(machine, f"pgrep -xf 'sleep 2{word}'").stdout.split()

    write("111")
    assert service("keep") == "started"
    until(lambda: on("111"))
    first = on("111")
    assert service("keep") == ""  # it is on, with this command
    assert on("111") == first
    service("on")

    write("222")
    assert service("keep") == "started"
    until(lambda: on("222"))
    assert not on("111")

    killed = on("222")
    done(pair, machine, f"kill -9 {killed[0]}")
    until(lambda: on("222") not in ([], killed))
    assert begun() == ["begun 111", "begun 222", "begun 222"]

    is_systemd = pair.ssh(machine, "systemctl is-active ncp-testbed-worker").stdout.strip() == "active"
    assert is_systemd == (number == 1)
    if is_systemd:
        assert done(pair, machine, "systemd-analyze verify /etc/systemd/system/ncp-testbed-worker.service") == ""
        done(pair, machine, "systemctl is-enabled ncp-testbed-worker")  # also after a reboot

    assert service("stop") == "stopped"
    assert pair.ssh(machine, f"{STATE}/service on worker").returncode != 0
    assert pair.ssh(machine, "pgrep -xf 'sleep [12](111|222)'").stdout == ""
    assert pair.ssh(machine, "ls -d /etc/systemd/system/*/ncp-testbed-* /etc/systemd/system/ncp-testbed-*").stdout == ""
    assert service("stop") == ""
