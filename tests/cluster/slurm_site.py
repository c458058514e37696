"""Slurm on this machine: a controller, two nodes and munge, all of them processes with files and ports of their own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.cluster.loopback import until

NODES = ("one", "two")
PARTITION = "tests"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")

CONF = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CredType=cred/munge
StateSaveLocation={place}/state
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmdSpoolDir={place}/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1
NodeName=one NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cores} RealMemory=1000
NodeName=two NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cores} RealMemory=1000
PartitionName={partition} Nodes=one,two Default=YES MaxTime=60 State=UP
"""


def why_not() -> str:
    """What this machine lacks for it; "" where nothing."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    packages = "slurmctld, slurmd, slurm-client, munge"
    return f"not here: {', '.join(lacking)} (Debian: {packages})" if lacking else ""


@contextmanager
def site(place: Path) -> Iterator[dict[str, str]]:
    """What the environment of Slurm's commands has while it is on. ``place`` has to have a short name, for the socket's
    sake."""
    (place / "state").mkdir()
    place.chmod(0o755)  # munge's clients have to reach its socket by folders that only their owners may write
    key = place / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(1024))
    conf = place / "slurm.conf"
    with ExitStack() as ports:
        free = [_free_port(ports) for _ in range(3)]
    cores = os.cpu_count()
    conf.write_text(CONF.format(host=socket.gethostname(), ports=free, place=place, partition=PARTITION, cores=cores))
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    munged = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={place / 'munge.socket'}"]
    munged += [f"--pid-file={place / 'munged.pid'}", f"--seed-file={place / 'seed'}"]
    munged += [f"--log-file={place / 'munged.log'}"]
    commands = [munged, ["slurmctld", "-D", "-i"], *(["slurmd", "-D", "-N", name] for name in NODES)]
    on: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            with (place / "site.log").open("ab") as log:
                on.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            if command is munged:
                until(lambda: (place / "munge.socket").exists())
        until(lambda: _idle(environment) == set(NODES))
        yield environment
    finally:
        for process in reversed(on):
            process.terminate()
        for process in on:
            process.wait(60)


def _idle(environment: dict[str, str]) -> set[str]:
    command = ["sinfo", "--noheader", "--Node", "--states=idle", "--format=%N"]
    return set(subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.split())


def _free_port(held: ExitStack) -> int:
    found = held.enter_context(socket.socket())
    found.bind(("127.0.0.1", 0))
    return int(found.getsockname()[1])
