"""A cluster of processes on this machine, with certificates of its own.

As a program it is there for a command: ``python -m tests.cluster.loopback WORKERS COMMAND…``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

from testbed import paths
from testbed.runtime.interrupts import interruptible
from testbed.study.hosts import cluster as clusters
from tests.ports import held_port

UNSOUND = Path(__file__).parent / "workers"
"""Programs that stand in a worker's place."""
KEPT = """\
trap 'end=1; kill $child' TERM
until [[ $end ]]; do
    "$@" & child=$!
    wait $child; wait $child # also where a signal has ended the first
    [[ $end ]] || sleep 0.5
done
"""
"""Starts a worker again when it has ended, as its service does."""


def certificates(place: Path) -> tuple[Path, Path, Path]:
    """An authority, and a certificate with its key."""
    ca, ca_key, cert, key = (place / name for name in ("ca.pem", "ca.key", "cert.pem", "key.pem"))
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-x509"]
    _openssl(*curve, "-subj", "/CN=test authority", "-keyout", ca_key, "-out", ca)
    _openssl(*curve, "-subj", "/CN=test host", "-CA", ca, "-CAkey", ca_key, "-keyout", key, "-out", cert)
    return ca, cert, key


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", "req", *map(str, arguments)], check=True, capture_output=True)


class Loopback:
    """A scheduler and workers; ends all that it started."""

    address = "127.0.0.1"
    """The scheduler's."""

    def __init__(self, place: Path, port: int) -> None:
        self.place, self.port = place, port
        self.ca, self.cert, self.key = certificates(place)
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def tls(self) -> list[str]:
        """The options of its programs."""
        files = {"--tls-ca-file": self.ca, "--tls-cert": self.cert, "--tls-key": self.key}
        return [word for option, file in files.items() for word in (option, str(file))]

    def start_scheduler(self) -> None:
        """At the same port each time."""
        place = ["--protocol", "tls", "--host", self.address, "--port", str(self.port)]
        program = ["-m", "dask", "scheduler", *place, "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        self.scheduler = self._start("scheduler", [sys.executable, *program, *self.tls])

    def start_worker(
        self, name: str, *, cores: int = 1, program: Sequence[str] = (), real_packets: bool = False
    ) -> None:
        """``program`` is what stands in a worker's place."""
        resources = f"{clusters.CORE}={cores}" + f" {clusters.REAL_PACKETS}=1" * real_packets
        command = [sys.executable, *(program or ("-m", "testbed.study.hosts")), f"tls://{self.address}:{self.port}"]
        command += [*self.tls, "--name", name, "--nthreads", str(cores), "--resources", resources]
        self.workers[name] = self._start(name, ["bash", "-c", KEPT, "kept", *command], scratch=True)

    def registered(self, name: str) -> int:
        """How often a worker has come to the scheduler."""
        return self.log(name).count("Registered to")

    def write_file(self) -> None:
        """The file of the cluster, in the state that the environment names."""
        can = clusters.Can(containers=False, processes=False, vkernel=True, sim=True)
        names = list(self.workers) or ["none yet"]
        hosts = [clusters.Host(name=name, address="127.0.0.1", cores=1, can=can) for name in names]
        scheduler = f"tls://{self.address}:{self.port}"
        clusters.write(
            clusters.Cluster(commit="", scheduler=scheduler, ca=self.ca, cert=self.cert, key=self.key, hosts=hosts)
        )

    def kill(self, name: str) -> None:
        """By SIGKILL: no chance to say anything."""
        process = self.scheduler if name == "scheduler" else self.workers[name]
        assert process is not None
        children = psutil.Process(process.pid).children()
        process.kill()  # first what would start a worker again
        process.wait()
        for child in children if name != "scheduler" else ():
            child.kill()
            child.wait()

    def stop(self, name: str) -> None:
        """A worker, as a service would be stopped."""
        process = self.workers[name]
        process.send_signal(signal.SIGTERM)
        process.wait(60)

    def log(self, name: str) -> str:
        """What a part said."""
        return (self.place / f"{name}.log").read_text()

    def end(self) -> None:
        """All, as a service would be ended."""
        processes = [process for process in (*self.workers.values(), self.scheduler) if process is not None]
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        for process in processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def apart(self, name: str) -> tuple[list[str], dict[str, str]]:
        """What a part's command begins with, and what is set for it."""
        return [], {}

    def _start(self, name: str, command: Sequence[str], *, scratch: bool = False) -> subprocess.Popen[bytes]:
        before, more = self.apart(name)
        environment = {
            **os.environ,
            "PYTHONPATH": str(paths.CHECKOUT),
            "DASK_CONFIG": str(clusters.DASK_CONFIG),
            **more,
        }
        folder = ["--local-directory", f"{environment['NCP_TESTBED_STATE']}/cluster/scratch"] if scratch else []
        with (self.place / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*before, *command, *folder], cwd=paths.CHECKOUT, env=environment, stdout=log, stderr=log
            )


@contextlib.contextmanager
def loopback(place: Path, names: Sequence[str]) -> Iterator[Loopback]:
    """A whole one."""
    place.mkdir(parents=True, exist_ok=True)
    with held_port() as port:
        cluster = Loopback(place, port)
        try:
            cluster.start_scheduler()
            for name in names:
                cluster.start_worker(name)
            yield cluster
        finally:
            cluster.end()


def until(what: Callable[[], object], seconds: float = 600.0) -> None:
    """Wait for a condition."""
    end_s = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end_s, "it did not come to be"
        time.sleep(0.05)


def main(workers: int, command: Sequence[str]) -> int:
    """The command's exit code."""
    with tempfile.TemporaryDirectory(prefix="ncp-loopback-", dir="/var/tmp") as folder:
        os.environ["NCP_TESTBED_STATE"] = os.environ["NCP_TESTBED_RESULTS"] = folder
        names = [f"w{i}" for i in range(workers)]
        with loopback(Path(folder) / "parts", names) as cluster:
            cluster.write_file()
            until(lambda: all(map(cluster.registered, names)))
            return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    with interruptible():
        sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
