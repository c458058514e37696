"""Where the runs of a verb are made: on this machine, or with ``--cluster`` on many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from testbed.cluster import model
from testbed.doctor import make_ready
from testbed.runner.progress import Progress
from testbed.study.executor import made_by

ClusterOption = Annotated[
    bool, typer.Option("--cluster", help="Make the runs on the machines of `cluster up`; all else is the same.")
]


@contextmanager
def runs_made(cluster: bool) -> Iterator[None]:
    """Raises CannotRun where there is no cluster, or the packages that speak to one may not be installed."""
    if not cluster:
        yield
        return
    model.read()
    make_ready(Progress(), "cluster")
    from testbed.cluster.executor import on_cluster  # needs packages that nothing else does

    with on_cluster() as executor, made_by(executor):
        yield
