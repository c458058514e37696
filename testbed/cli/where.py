"""Where the runs of a verb are made: on this machine, or with ``--cluster`` on many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from testbed.cluster import model
from testbed.doctor import make_ready
from testbed.errors import BadInput
from testbed.runner.progress import Progress
from testbed.study.executor import made_by

ClusterOption = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="[slurm[:KEY=VALUE,…]]",
        help="Make the runs on the machines of `cluster up`, or in jobs of Slurm; all else is the same.",
    ),
]
HOSTS, SLURM = "hosts", "slurm"
"""What ``--cluster`` stands for without a value, and its other value."""


@contextmanager
def runs_made(cluster: str) -> Iterator[None]:
    """By what ``--cluster`` says; "" is here.

    Raises:
        BadInput: it says nothing that there is.
        CannotRun: there is no cluster, or the packages that speak to one may not be installed.
    """
    kind, _, options = cluster.partition(":")
    if kind not in ("", HOSTS, SLURM) or (options and kind != SLURM):
        raise BadInput(f"--cluster {cluster!r}: should stand alone, or have slurm or slurm:KEY=VALUE,… behind it")
    if not kind:
        yield
        return
    if kind == HOSTS:
        model.read()
    make_ready(Progress(), "cluster")
    # Below, as they need packages that nothing else does.
    if kind == SLURM:
        from testbed.cluster.slurm import asked_for, on_slurm

        with on_slurm(asked_for(options)) as executor, made_by(executor):
            yield
        return
    from testbed.cluster.executor import on_cluster

    with on_cluster() as executor, made_by(executor):
        yield
