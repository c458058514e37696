"""A cluster for the duration of a command: jobs of a site's Slurm, each with one worker, by dask-jobqueue. The
scheduler is in the submitter's own process; checkout and keys reach the nodes by a shared file system."""

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import dask.config
from dask_jobqueue.slurm import SLURMCluster
from distributed import Security
from pydantic import Field, ValidationError

from testbed import paths
from testbed.documents import explain
from testbed.errors import BadInput, CannotRun
from testbed.machine import guest_kernel
from testbed.machine.build import build_programs
from testbed.scenario.section import Section
from testbed.study.hosts.cluster import CORE, configure_dask
from testbed.study.hosts.dask import DaskExecutor, Site, dask_executor

FOLDER = paths.CHECKOUT / ".build" / "slurm"
"""Keys while they are needed, and the output of jobs."""
PATIENCE_S = 15.0
"""Timeout without a worker and without a job."""

Number = Annotated[int, Field(ge=1, le=4096)]
Text = Annotated[str, Field(min_length=1)]


class Request(Section):
    """Options of jobs; "" leaves one to the site's configuration of dask-jobqueue or Slurm."""

    jobs: Number = 1
    cores: Number = 1
    """Cores of each job: the number of its runs in parallel."""
    partition: Text = ""
    time: Text = ""
    """The limit of each job, as ``sbatch --time`` has it."""
    account: Text = ""


def parse_request(text: str) -> Request:
    """Parses ``jobs=4,cores=8,partition=short,time=2:00:00,account=me``, all of it optional; raises BadInput."""
    try:
        return Request.model_validate(dict(part.partition("=")[::2] for part in text.split(",")) if text else {})
    except ValidationError as error:
        raise BadInput(
            "slurm.bad-option",
            f"--cluster slurm: {explain(error)}; there should be KEY=VALUE,… with {', '.join(Request.model_fields)} "
            "as keys",
        ) from error


@contextmanager
def slurm_executor(request: Request) -> Iterator[DaskExecutor]:
    """Workers in jobs of Slurm, which are cancelled in the end; raises CannotRun where there is no Slurm, or it refuses
    the jobs."""
    if missing := [program for program in ("sbatch", "squeue", "scancel") if shutil.which(program) is None]:
        raise CannotRun(
            "slurm.not-here",
            f"--cluster slurm: {', '.join(missing)}: not here",
            "Give the command where jobs are submitted: on a login node of a site with Slurm.",
        )
    configure_dask()
    build_programs()
    FOLDER.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix="job-") as folder:
        jobs = _cluster(request, Path(folder))
        try:
            _refuse_where_slurm_does(jobs.job_script())
            jobs.scale(jobs=request.jobs)
            cores, hint = request.jobs * request.cores, f"Output of the jobs: {FOLDER}"
            site = Site(jobs.scheduler_address, jobs.security, cores, 0, lambda: _is_queued(jobs), PATIENCE_S, hint)
            with dask_executor(lambda: site) as executor:
                yield executor
        finally:
            jobs.close()


def _cluster(request: Request, folder: Path) -> SLURMCluster:
    """The cluster of dask-jobqueue. It requires a worker's memory, which is not limited here: Slurm has its default."""
    given: dict[str, Any] = {"queue": request.partition, "walltime": request.time, "account": request.account}
    given = {name: value for name, value in given.items() if value}  # the site's configuration may have the others
    if not dask.config.get("jobqueue.slurm.memory", None):
        given |= {"memory": "1GiB", "job_directives_skip": ["--mem"]}
    return SLURMCluster(
        name="ncp-testbed",
        job_name="ncp-testbed",
        cores=request.cores,
        processes=1,
        security=Security.temporary(),
        shared_temp_directory=str(FOLDER),
        scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        log_directory=str(FOLDER),
        job_script_prologue=_prologue(folder),
        worker_command="testbed.study.hosts",
        worker_extra_args=["--name", '"$(hostname)-$SLURM_JOB_ID"', "--resources", f"{CORE}={request.cores}"],
        **given,
    )


def _prologue(folder: Path) -> list[str]:
    """Lines of a job's script before its worker: everything is built already, and results stay on the node. The shell
    outlives a worker that Slurm ends."""
    lines = [
        "export NCP_TESTBED_NO_SETUP=1 NCP_TESTBED_NO_BUILD=1 PYTHONUTF8=1",
        f"export PYTHONPATH={shlex.quote(str(paths.CHECKOUT))}",
        'export NCP_TESTBED_STATE="${TMPDIR:-/tmp}/ncp-testbed-$SLURM_JOB_ID"',
        'export DASK_TEMPORARY_DIRECTORY="$NCP_TESTBED_STATE"',
        """trap 'rm -rf "$NCP_TESTBED_STATE"' EXIT; trap : TERM""",
        f"cd {shlex.quote(str(paths.CHECKOUT))} || exit 1",
    ]
    if kernel := guest_kernel.built():
        lines.append(f"export NCP_TESTBED_VKERNEL={shlex.quote(str(shutil.copy(kernel, folder / 'linux')))}")
    return lines


def _refuse_where_slurm_does(script: str) -> None:
    """Raise CannotRun with Slurm's own words where it refuses the job, instead of waiting for workers."""
    done = subprocess.run(["sbatch", "--test-only"], input=script, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotRun(
            "slurm.job-refused", f"Slurm refuses the job: {done.stderr.strip()[-300:]}", "sinfo shows what there is."
        )


def _is_queued(jobs: SLURMCluster) -> bool:
    """Whether one of the jobs waits or is running."""
    numbers = [str(job.job_id) for job in jobs.workers.values() if job.job_id]
    if not numbers:
        return bool(jobs.worker_spec)
    command = ["squeue", "--noheader", "--format=%i", f"--jobs={','.join(numbers)}"]
    return bool(subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip())
