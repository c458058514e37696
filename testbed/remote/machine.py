"""One machine with hosts of a run: reached by SSH, through which come its Docker engine and its agents' sockets."""

import contextlib
import json
import logging
import platform
import shlex
import socket
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.errors import CannotRun, RunFailed, TestbedError
from testbed.exit_codes import Exit
from testbed.machine import build
from testbed.message import Message
from testbed.runtime.agents import start_container
from testbed.runtime.processes import Supervised, last_words
from topologies import control_socket

log = logging.getLogger(__name__)

LABEL, LEAD_LABEL = "ncp-testbed.far-run", "ncp-testbed.lead"
"""Labels of containers on a machine: the run that made them, and the machine that leads it."""
FOLDER = "/run/ncp-testbed-far"
"""The folder on a machine that has one for each run, with the sockets and spools of its agents."""
SOCKET = "far.sock"
LEAD = "lead"
"""The file in a run's folder that names the machine which leads it."""
VXLAN_PORT, ECHO_PORT = 14789, 14790
"""UDP ports of a machine that the others of a run must reach, and of the one that leads the first as well."""
CAPABILITIES = ("NET_ADMIN", "NET_RAW", "SYS_ADMIN", "SYS_PTRACE")
"""Capabilities of the helper, which enters the hosts' network namespaces and makes interfaces there."""
CONNECT_S = 15.0
ANSWER_S = 20
SSH_OPTIONS = ("BatchMode=yes", f"ConnectTimeout={CONNECT_S:.0f}", "ServerAliveInterval=3", "ServerAliveCountMax=5")
"""A connection without an answer for 15 s is over; a network that is gone for some seconds does not end it."""
OF_ANSIBLE = {"ansible_ssh_private_key_file": "-i", "ansible_port": "-p", "ansible_user": "-l"}
"""Variables of Ansible → options of SSH."""


def lead() -> str:
    """The identity of this machine among those that lead runs."""
    try:
        return Path("/etc/machine-id").read_text().strip() or socket.gethostname()
    except OSError:
        return socket.gethostname()


def ssh_command(name: str, variables: Mapping[str, Any]) -> list[str]:
    """The beginning of an SSH command to a host of an inventory, up to and with its address, by Ansible's variables."""
    given = [(option, str(variables[variable])) for variable, option in OF_ANSIBLE.items() if variables.get(variable)]
    options = [part for pair in (*(("-o", option) for option in SSH_OPTIONS), *given) for part in pair]
    for arguments in ("ansible_ssh_common_args", "ansible_ssh_extra_args"):
        options += shlex.split(str(variables.get(arguments, "")))
    return ["ssh", *options, str(variables.get("ansible_host", name))]


class Machine:
    """A machine while a run has hosts on it."""

    def __init__(self, name: str, variables: Mapping[str, Any], run: str, own: Path, log: Path) -> None:
        """``own``: a folder for its sockets here, with a path that is short enough for one."""
        self.name, self.run, self.own, self.log = name, run, own, log
        self.variables = variables
        self.address = _address_of(name, variables.get("ncp_testbed_address") or variables.get("ansible_host", name))
        self.folder = f"{FOLDER}/{run}"
        self.docker: Any = None
        self.ahead_ns = 0
        """The lead of its clock before this one's."""
        self._ssh: Supervised | None = None
        self._helper: Any = None

    def connect(self, sockets: Sequence[str] = ()) -> None:
        """Open the connection; further ``sockets`` of the run's folder there are at the same place in ``own`` then.
        Raises :class:`CannotRun` where SSH or the Docker engine does not answer."""
        import docker
        from docker.errors import DockerException

        self.own.mkdir(parents=True, exist_ok=True)
        engine = self.own / "docker.sock"
        forwards = {engine: "/var/run/docker.sock"}
        for name in (SOCKET, *sockets):
            (self.own / name).parent.mkdir(parents=True, exist_ok=True)
            forwards[self.own / name] = f"{self.folder}/{name}"
        *command, address = ssh_command(self.name, self.variables)
        command += ["-N", "-o", "ExitOnForwardFailure=yes", "-o", "StreamLocalBindUnlink=yes"]
        for local, remote in forwards.items():
            command += ["-L", f"{local}:{remote}"]
        self._ssh = Supervised(f"SSH to {self.name}", [*command, address], self.log)
        try:
            self._ssh.await_ready(lambda: all(local.exists() for local in forwards), CONNECT_S)
        except RunFailed as error:
            raise CannotRun("host.no-ssh", f"{self.name}: no SSH: {error.said}", f"Try: ssh {address}") from None
        try:
            self.docker = docker.DockerClient(base_url=f"unix://{engine}", timeout=ANSWER_S)
            there, here = str(self.docker.info()["Architecture"]), platform.machine()
        except (DockerException, OSError) as error:
            raise CannotRun(
                "host.no-docker",
                f"{self.name}: no Docker engine answers at its /var/run/docker.sock ({type(error).__name__})",
                "Start it there, and let the SSH user be root or of the group docker.",
            ) from error
        if there != here:
            raise CannotRun(
                "host.other-processor", f"{self.name}: its processor is {there}, and programs are built for {here} here"
            )

    def start_helper(self, program: Path, key: int) -> None:
        """Start the helper that makes links and samples there; raises :class:`CannotRun` where it does not run."""
        from docker.errors import APIError

        image = build.build_image(self.docker, program)
        try:
            self._helper = self.docker.containers.create(
                image,
                ["serve", "--dir", "/far", "--listen", f"{self.address}:{ECHO_PORT}", "--key", str(key)],
                name=f"ncp-far-{self.run}",
                labels=self.labels(),
                network_mode="host",
                pid_mode="host",
                cap_add=list(CAPABILITIES),
                security_opt=["apparmor=unconfined", "seccomp=unconfined"],
                volumes=[f"{self.folder}:/far"],
            )
            self._helper.start()
        except APIError as error:
            raise CannotRun(
                "host.helper-refused", f"{self.name}: its Docker engine refuses the helper: {error.explanation}"
            ) from error
        deadline = time.monotonic() + CONNECT_S
        while True:
            try:
                self.ask("GET", "/queues")
                return
            except OSError:
                self._helper.reload()
                if self._helper.status == "exited" or time.monotonic() > deadline:
                    said = self._helper.logs().decode(errors="replace").strip()
                    taken = self._helper.attrs["State"]["ExitCode"] == Exit.CANNOT_RUN
                    raise CannotRun(
                        "host.helper-not-running",
                        f"{self.name}: the helper does not run there: {said or 'it says nothing'}",
                        f"{'Another run has hosts there: wait for it.' if taken else ''}",
                    ) from None
                time.sleep(0.1)

    def hold(self, name: str) -> int:
        """A process in an empty network of its own, by a container of that name."""
        options = {"name": name, "labels": self.labels(), "network_mode": "none"}
        return start_container(self.docker, self._helper.image.id, ["hold"], **options)[1]

    def labels(self) -> dict[str, str]:
        """The labels of each container of the run there."""
        return {LABEL: self.run, LEAD_LABEL: lead()}

    def put(
        self,
        files: Mapping[str, bytes],
        folders: Iterable[str] = (),
        *,
        owner: int = 0,
        mode: int = 0o644,
        into: str = "/far",
    ) -> None:
        """Leave files in the run's folder there, or by their paths below the root in the helper's own file system
        (``into="/"``), and make folders of the user ``owner``."""
        import io
        import tarfile

        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name in folders:
                entry = tarfile.TarInfo(name)
                entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, 0o755, owner, owner
                archive.addfile(entry)
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), mode
                archive.addfile(entry, io.BytesIO(content))
        self._helper.put_archive(into, packed.getvalue())

    def ask(self, method: str, path: str, body: object = None, *, socket: str = SOCKET) -> Any:
        """One request to the helper, or at another ``socket`` of the run's folder there; raises ``OSError`` while it
        does not answer, :class:`RunFailed` where it refuses."""
        answer = self._request(method, path, body, socket)
        return json.loads(answer) if answer.strip() else None

    def answer(self, method: str, path: str, body: object = None) -> Any:
        """Returns what :meth:`ask` does; raises :class:`RunFailed` as well where the helper does not answer."""
        try:
            return self.ask(method, path, body)
        except OSError as error:
            raise RunFailed("host.does-not-answer", f"{self.name} does not answer: {error}") from error

    def read(self, file: str, start: int) -> bytes:
        """The content of a file in the run's folder there from an offset on, a MiB at most; raises as :meth:`ask`."""
        return self._request("GET", "/read?" + urllib.parse.urlencode({"file": file, "from": start}), None, SOCKET)

    def read_all(self, file: str) -> bytes:
        """The whole file; empty where there is none."""
        whole = b""
        while more := self.read(file, len(whole)):
            whole += more
        return whole

    def _request(self, method: str, path: str, body: object, at: str) -> bytes:
        try:
            return control_socket.request(self.own / at, method, path, body, timeout_s=ANSWER_S)
        except control_socket.Refused as refusal:
            request = f"{method} {path}"
            raise RunFailed("host.refused", f"{self.name} refused {request}: {refusal}") from refusal
        except OSError as error:
            raise OSError(f"{self.name}: {error}") from error

    def failure(self) -> Message | None:
        """The end of the connection that nobody ended, or None while it is there."""
        if self._ssh is None or not self._ssh.has_ended():
            return None
        name, said = self.name, last_words(self.log)
        return Message("host.connection-gone", f"the connection to {name} is gone{said}")

    def stop(self) -> None:
        """Remove all that the run made there, and end the connection; the rest is left to
        :func:`remove_leftovers`."""
        try:
            if failed := self.failure():
                log.warning("%s; ./run.sh clean --hosts INVENTORY removes what is left there", failed)
            elif self.docker is not None:
                remove_run(self.docker, self.run)
        except Exception as error:  # the other machines must be left clean
            log.warning("%s: %s; ./run.sh clean --hosts INVENTORY removes what is left there", self.name, error)
        finally:
            self.disconnect()

    def disconnect(self) -> None:
        """End the connection."""
        if self.docker is not None:
            self.docker.close()
        if self._ssh is not None:
            with contextlib.suppress(RunFailed):
                self._ssh.stop()


def remove_run(client: Any, run: str, removed: Callable[[str], object] = lambda _: None) -> None:
    """Remove all that a run made on a machine, by its Docker engine: agents' containers, then the run's folder by the
    helper's own, then that. Safe to repeat."""
    found = client.containers.list(all=True, filters={"label": f"{LABEL}={run}"})
    for container in sorted(found, key=lambda one: one.name.startswith("ncp-far-")):
        if container.name.startswith("ncp-far-"):
            _in_folders(client, container.image.id, "forget", run)
        container.remove(force=True)
        removed(f"container {container.name}")


def runs_with_folders(client: Any, helper: str) -> dict[str, str]:
    """The runs that have one, and the machine that leads each; "" where nothing tells."""
    said = _in_folders(client, helper, "runs").decode()
    return {run: led_by for run, _, led_by in (line.partition(" ") for line in said.splitlines())}


def remove_leftovers(machines: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Remove from machines, given by their variables, all of the runs that this one led, none of which may be on;
    another leader's runs are left alone. Returns the removed things and the problems, in words."""
    removed: list[str] = []
    problems: list[str] = []
    for name, variables in machines.items():
        with tempfile.TemporaryDirectory(prefix="ncp-far-") as own, contextlib.ExitStack() as parts:
            try:
                machine = Machine(name, variables, "", Path(own), Path(own) / "ssh.log")
                parts.callback(machine.disconnect)
                machine.connect()
                _remove_leftovers(machine, removed, problems)
            except TestbedError as error:
                problems.append(error.message)
    return removed, problems


def _remove_leftovers(machine: Machine, removed: list[str], problems: list[str]) -> None:
    found = machine.docker.containers.list(all=True, filters={"label": LABEL})
    runs = {one.labels[LABEL]: one.labels.get(LEAD_LABEL, "") for one in found}
    helper = build.build_image(machine.docker, build.build_programs("ncp-far")["ncp-far"])
    folders = runs_with_folders(machine.docker, helper)  # some whose containers somebody removed
    for run, led_by in {**folders, **runs}.items():
        if led_by != lead():
            problems.append(f"{machine.name}: run {run} is another machine's, and may be on; clean up from there")
            continue
        remove_run(machine.docker, run, lambda what: removed.append(f"{what} on {machine.name}"))
        if run in runs_with_folders(machine.docker, helper):
            _in_folders(machine.docker, helper, "forget", run)
            removed.append(f"folder of run {run} on {machine.name}")


def _in_folders(client: Any, helper: str, *command: str) -> bytes:
    container = client.containers.create(helper, list(command), network_mode="none", volumes=["/run:/machine/run"])
    try:
        container.start()
        ended = container.wait(timeout=ANSWER_S)["StatusCode"]
        if ended:
            logs = container.logs().decode(errors="replace").strip()
            raise RunFailed("container.ended", f"{command[0]} ended with {ended}: {logs}")
        said: bytes = container.logs(stderr=False)
    finally:
        container.remove(force=True)  # one that did not start as well: its engine may have had no room
    return said


def _address_of(name: str, host: object) -> str:
    try:
        return str(socket.getaddrinfo(str(host), None, socket.AF_INET, socket.SOCK_DGRAM)[0][4][0])
    except OSError as error:
        raise CannotRun("host.no-address", f"{name}: {host}: no IPv4 address ({error})") from error


def address_towards(other: str) -> str:
    """This machine's own address on the path to another one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        any_socket.connect((other, ECHO_PORT))
        return str(any_socket.getsockname()[0])
