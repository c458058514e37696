"""The place of a verb's runs: this machine, or with ``--cluster`` many.

Also what a machine of a site is called with that makes one part of them alone (``--cluster part:of=8,cores=2``), which
nobody types: ``cluster manifest`` writes it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated

import typer

from testbed.errors import BadInput
from testbed.exit_codes import Exit
from testbed.study.executors import Executor, Part, run_by
from testbed.study.ledger import PartMade

ClusterOption = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="[slurm[:KEY=VALUE,…]]",
        help="Make the runs on the machines of `cluster up`, or in jobs of Slurm; everything else is the same.",
    ),
]
HOSTS, SLURM, PART = "hosts", "slurm", "part"
"""The meaning of ``--cluster`` without a value, and its other values."""
INDEX = "JOB_COMPLETION_INDEX"
"""Kubernetes tells a pod of an Indexed Job so which one it is."""


@contextmanager
def runs_made(cluster: str, *, parts: bool = False) -> Iterator[None]:
    """The executor by the value of ``--cluster``; "" is here. A verb's runs that can be made in ``parts`` are: one of
    them, and the command ends.

    Raises:
        BadInput: it says nothing that there is.
        CannotRun: there is no cluster, or the packages that speak to one may not be installed.
    """
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
        raise BadInput(
            "cluster.bad-target",
            "--cluster {cluster!r}: should stand alone, or be followed by slurm or slurm:KEY=VALUE,…",
            cluster=cluster,
        )


def _many_machines(kind: str, options: str) -> AbstractContextManager[Executor]:
    from testbed.machine import make_ready
    from testbed.runtime.progress import Progress
    from testbed.study.hosts import cluster as clusters

    if kind == HOSTS:
        clusters.read()
    make_ready(Progress(), "cluster")
    # Below, as they need packages that nothing else does.
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
            "--cluster part:{options} with {index}={number!r}: should be part:of=PARTS,cores=CORES, and the index a "
            "number below PARTS",
            options=options,
            index=INDEX,
            number=number,
        )
    return Part(int(number), int(request[1]), int(request[2]))
