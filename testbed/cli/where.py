"""``--cluster``: makes the runs of a verb on many machines.

``--cluster part:of=8,cores=2``, written by ``cluster manifest``, makes one part of the runs on this machine."""

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated

import typer

from testbed.errors import BadInput
from testbed.exit_codes import Exit
from testbed.study.executors import Executor, Part, PartMade, run_by

ClusterOption = Annotated[
    str,
    typer.Option(
        "--cluster", metavar="[slurm[:KEY=VALUE,…]]", help="Make runs on the hosts of `cluster up`, or in Slurm."
    ),
]
HOSTS, SLURM, PART = "hosts", "slurm", "part"
"""The value of a bare ``--cluster``, and its other values."""
INDEX = "JOB_COMPLETION_INDEX"
"""Variable of Kubernetes with the number of a pod of an Indexed Job."""


@contextmanager
def runs_made(cluster: str, *, parts: bool = False) -> Iterator[None]:
    """Make runs where the value of ``--cluster`` says; "" is this machine. A verb whose runs can be made in ``parts``
    ends after one of them. Raises BadInput for an unknown value, CannotRun without a cluster or the packages for
    one."""
    kind, _, options = cluster.partition(":")
    if not cluster:
        yield
    elif kind == PART and parts:
        try:
            with run_by(_part(options)):
                yield
        except PartMade as made:
            print(made)
            raise typer.Exit(Exit.PASS) from None
    elif cluster == HOSTS or kind == SLURM:
        with _many_machines(kind, options) as executor, run_by(executor):
            yield
    else:
        raise BadInput("cluster.bad-target", f"--cluster {cluster!r}: should be alone, or slurm or slurm:KEY=VALUE,…")


def _many_machines(kind: str, options: str) -> AbstractContextManager[Executor]:
    # Imported here, as they need packages that nothing else does.
    from testbed.machine.provisioning import make_ready
    from testbed.runtime.progress import Progress
    from testbed.study.hosts import cluster as clusters

    if kind == HOSTS:
        clusters.read()
    make_ready(Progress(), "cluster")
    if kind == SLURM:
        from testbed.study.hosts.slurm import parse_request, slurm_executor

        return slurm_executor(parse_request(options))
    from testbed.study.hosts.dask import dask_executor

    return dask_executor()


def _part(options: str) -> Part:
    request = re.fullmatch(r"of=([1-9][0-9]{0,5}),cores=([1-9][0-9]{0,3})", options)
    number = os.environ.get(INDEX, "")
    if request is None or not number.isdecimal() or int(number) >= int(request[1]):
        raise BadInput(
            "cluster.bad-part",
            f"--cluster part:{options} with {INDEX}={number!r}: should be part:of=PARTS,cores=CORES, a smaller index",
        )
    return Part(int(number), int(request[1]), int(request[2]))
