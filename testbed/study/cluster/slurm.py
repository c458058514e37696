"""A cluster for as long as a command takes: jobs of a site's Slurm, each with one worker, by dask-jobqueue. The
scheduler is in the submitter's own process; checkout and keys reach the nodes by a file system that all share."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import dask.config
from dask_jobqueue.slurm import SLURMCluster, SLURMJob
from distributed import Security

from testbed import paths
from testbed.errors import BadInput, CannotRun
from testbed.machine import guest_kernel
from testbed.machine.build import build_programs
from testbed.study.cluster import settings
from testbed.study.cluster.connection import Site
from testbed.study.cluster.executor import OnCluster, on_cluster
from testbed.study.cluster.model import Can, Cluster, Host
from testbed.study.cluster.tls import security

PLACE = paths.CHECKOUT / ".build" / "slurm"
"""Keys while they are needed, and what the jobs said."""
PATIENCE_S = 15.0
"""So long no worker and no job may be there."""


@dataclass(frozen=True)
class Asked:
    """What is asked of Slurm; "" is as the site's configuration of dask-jobqueue or Slurm itself has it."""

    jobs: int = 1
    cores: int = 1
    """Of each job: so many runs go side by side there."""
    partition: str = ""
    time: str = ""
    """The limit of each job, as ``sbatch --time`` has it."""
    account: str = ""


def asked_for(text: str) -> Asked:
    """``jobs=4,cores=8,partition=short,time=2:00:00,account=me``, all of it optional.

    Raises:
        BadInput: names what is wrong.
    """
    known = {field.name for field in fields(Asked)}
    found: dict[str, Any] = {}
    for part in text.split(",") if text else ():
        name, equals, value = part.partition("=")
        if name not in known or not equals or not value:
            raise BadInput(
                "slurm.bad-option",
                "--cluster slurm: {part!r} should be KEY=VALUE, with {keys} as keys",
                part=part,
                keys=", ".join(sorted(known)),
            )
        if name in ("jobs", "cores"):
            if not value.isdecimal() or not 1 <= int(value) <= 4096:
                raise BadInput(
                    "slurm.bad-number",
                    "--cluster slurm: {name}: {value!r} should be a number from 1 to 4096",
                    name=name,
                    value=value,
                )
            found[name] = int(value)
        else:
            found[name] = value
    return Asked(**found)


class _Job(SLURMJob):
    """With our worker in place of Dask's."""

    def __init__(self, *given: Any, command: Callable[[str, int], str], **named: Any) -> None:
        super().__init__(*given, **named)
        self._command_template = command(str(self.scheduler), self.worker_cores)


class _Jobs(SLURMCluster):
    job_cls = _Job


@contextmanager
def on_slurm(asked: Asked) -> Iterator[OnCluster]:
    """Workers in jobs of Slurm for a study or several; the jobs are cancelled in the end.

    Raises:
        CannotRun: there is no Slurm here, or it takes no such jobs.
    """
    if missing := [program for program in ("sbatch", "squeue", "scancel") if shutil.which(program) is None]:
        raise CannotRun(
            "slurm.not-here",
            "--cluster slurm: {missing}: not here",
            "Give the command where jobs are submitted: on a login node of a site with Slurm.",
            missing=", ".join(missing),
        )
    settings.apply()
    build_programs()
    PLACE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=PLACE, prefix="keys-") as folder:
        keys = _keys(Path(folder))
        jobs = _Jobs(
            name="ncp-testbed",
            job_name="ncp-testbed",
            security=security(*keys),
            scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            log_directory=str(PLACE),
            job_script_prologue=_environment(Path(folder)),
            command=lambda scheduler, cores: _command(scheduler, keys, cores),
            **_options(asked),
        )
        try:
            _refuse_where_slurm_does(jobs.job_script(), Path(folder))
            cluster = _cluster(jobs.scheduler_address, keys, asked)
            jobs.scale(jobs=asked.jobs)
            hint = f"What the jobs said: {PLACE}"
            with on_cluster(Site(lambda: cluster, lambda: _queued(jobs), PATIENCE_S, hint)) as executor:
                yield executor
        finally:
            jobs.close()


def _options(asked: Asked) -> Mapping[str, Any]:
    """Of dask-jobqueue, without those that the site's own configuration is to give. It wants to know a worker's
    memory, which nobody here asks for: Slurm gives what is usual."""
    site = dask.config.get("jobqueue.slurm.memory", None)
    given = {"queue": asked.partition, "walltime": asked.time, "account": asked.account}
    return {
        "cores": asked.cores,
        "processes": 1,
        **({} if site else {"memory": "1GiB", "job_directives_skip": ["--mem"]}),
        **{name: value for name, value in given.items() if value},
    }


def _keys(folder: Path) -> tuple[Path, Path, Path]:
    """An authority that is for this command alone, which is its only member's certificate, too, and the key."""
    made = Security.temporary().get_tls_config_for_role("worker")
    files = []
    for name, key in (("ca.pem", "ca_file"), ("cert.pem", "cert"), ("key.pem", "key")):
        file = folder / name
        file.touch(mode=0o600)
        file.write_text(made[key])
        files.append(file)
    return files[0], files[1], files[2]


def _environment(folder: Path) -> list[str]:
    """Lines of a job's script before its worker: everything is there already, and what it makes is the node's own."""
    lines = [
        "export NCP_TESTBED_NO_SETUP=1 NCP_TESTBED_NO_BUILD=1 PYTHONUTF8=1",
        f"export PYTHONPATH={shlex.quote(str(paths.CHECKOUT))}",
        'export NCP_TESTBED_STATE="${TMPDIR:-/tmp}/ncp-testbed-$SLURM_JOB_ID"',
        """trap 'rm -rf "$NCP_TESTBED_STATE"' EXIT""",
        f"cd {shlex.quote(str(paths.CHECKOUT))} || exit 1",
    ]
    if kernel := guest_kernel.built():
        there = shutil.copy(kernel, folder / "linux")
        lines.append(f"export NCP_TESTBED_VKERNEL={shlex.quote(str(there))}")
    return lines


def _command(scheduler: str, keys: Sequence[Path], cores: int) -> str:
    """The worker, told to end where Slurm ends the job."""
    options = zip(("--ca", "--cert", "--key"), map(str, keys), strict=True)
    words = [
        sys.executable,
        "-m",
        "testbed.study.cluster.worker",
        "--once",
        "--scheduler",
        scheduler,
        "--cores",
        str(cores),
    ]
    called = shlex.join([*words, *(word for option in options for word in option)])
    return "\n".join(
        [
            "trap 'kill \"$worker\"' TERM",
            f'{called} --name "$(hostname)-$SLURM_JOB_ID" &',
            "worker=$!",
            'until wait "$worker"; (($? < 128)); do :; done',
        ]
    )


def _refuse_where_slurm_does(script: str, folder: Path) -> None:
    """A job that Slurm does not take is told by its own words, not found out by waiting."""
    file = folder / "job.sh"
    file.write_text(script)
    done = subprocess.run(["sbatch", "--test-only", str(file)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotRun(
            "slurm.job-refused",
            "Slurm refuses the job: {stderr}",
            "sinfo shows what there is.",
            stderr=done.stderr.strip()[-300:],
        )


def _queued(jobs: SLURMCluster) -> bool:
    """Whether a job of ours waits or is on."""
    numbers = [str(job.job_id) for job in jobs.workers.values() if job.job_id]
    if not numbers:
        return bool(jobs.worker_spec)
    command = ["squeue", "--noheader", "--format=%i", f"--jobs={','.join(numbers)}"]
    return bool(subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip())


def _cluster(scheduler: str, keys: tuple[Path, Path, Path], asked: Asked) -> Cluster:
    can = Can(containers=False, processes=False, vkernel=guest_kernel.built() is not None, sim=True)
    ca, cert, key = keys
    hosts = [Host(name=f"job {i + 1}", address="", cores=asked.cores, can=can) for i in range(asked.jobs)]
    return Cluster(commit="", scheduler=scheduler, ca=ca, cert=cert, key=key, hosts=hosts)
