"""Where the runs of a verb are made: on this machine, or with ``--cluster`` on many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from testbed.errors import CannotRun
from testbed.study.executor import made_by

ClusterOption = Annotated[
    bool, typer.Option("--cluster", help="Make the runs on the machines of `cluster up`; all else is the same.")
]


@contextmanager
def runs_made(cluster: bool) -> Iterator[None]:
    """Raises CannotRun where there is no cluster, or nothing that speaks to one."""
    if not cluster:
        yield
        return
    try:
        from testbed.cluster.executor import on_cluster
    except ImportError as error:
        raise CannotRun(
            f"--cluster: {error.name} is not installed", "It is in requirements-cluster.lock; ./run.sh installs it."
        ) from error
    with on_cluster() as executor, made_by(executor):
        yield
