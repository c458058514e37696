"""What is set of Dask, alike in scheduler, workers and submitters."""

from __future__ import annotations

import dask

CUT_OFF_S = 60
"""A connection on which nothing comes through for so long is lost; a shorter gap is waited out."""


def apply() -> None:
    """For this process."""
    dask.config.set(
        {
            "distributed.comm.timeouts.connect": "10s",
            "distributed.comm.timeouts.tcp": f"{CUT_OFF_S}s",
            "distributed.comm.retry.count": 2,
            "distributed.scheduler.allowed-failures": 0,  # the submitter counts, who knows what a run may cost
            "distributed.scheduler.work-stealing": False,  # the submitter says where
            "distributed.scheduler.worker-ttl": f"{2 * CUT_OFF_S}s",
            "distributed.scheduler.http.routes": [],
            "distributed.worker.http.routes": [],
            "distributed.worker.profile.enabled": False,
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.pause": False,
            "distributed.worker.memory.terminate": False,
            "distributed.admin.system-monitor.gil.enabled": False,
        }
    )
