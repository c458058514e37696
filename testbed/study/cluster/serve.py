"""What a worker is: Dask's, which looks after runs; each is a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from distributed import Status, Worker

from testbed.study.cluster import model, settings, work
from testbed.study.cluster.scheduler import add_tls
from testbed.study.cluster.tls import security

AGAIN_S = 1.0
"""Between two attempts to find the scheduler."""
LOOK_S = 0.2
"""How often it is looked whether the scheduler is lost."""


def serve() -> None:
    """Until it is told to end. One that has lost its scheduler ends its runs and starts anew: whoever asked for them
    asks again."""
    parser = argparse.ArgumentParser(prog="testbed.study.cluster.worker")
    parser.add_argument("--scheduler", required=True, help="tls://HOST:PORT")
    add_tls(parser)
    parser.add_argument("--name", required=True, help="the host's")
    parser.add_argument("--cores", type=int, required=True, help="runs side by side in virtual time")
    parser.add_argument("--real-packets", action="store_true", help="whether it makes runs on real packets")
    parser.add_argument("--once", action="store_true", help="end where the scheduler is lost, or does not answer")
    asked = parser.parse_args()
    settings.apply()
    work.begin(asked.name, scratch(asked.name))
    told_to_end = False
    try:
        told_to_end = asyncio.run(_serve(asked))
    except (OSError, TimeoutError, RuntimeError) as error:
        then = "the end" if asked.once else f"once more in {AGAIN_S:.0f} s"
        print(f"{asked.scheduler}: {error or type(error).__name__}; {then}", flush=True)
    finally:
        work.end_all()
    if told_to_end or asked.once:
        shutil.rmtree(work.HERE.scratch, ignore_errors=True)
        sys.stdout.flush()
        os._exit(0)  # threads that wait for runs that were ended
    time.sleep(AGAIN_S)
    os.execv(sys.executable, sys.orig_argv)


def scratch(name: str) -> Path:
    """Where a worker's runs are while they are made."""
    return model.file().parent / "scratch" / name


async def _serve(asked: argparse.Namespace) -> bool:
    """Whether it was told to end, and has not lost its scheduler."""
    resources = {model.CORE: asked.cores, **({model.REAL_PACKETS: 1} if asked.real_packets else {})}
    worker = Worker(
        asked.scheduler,
        name=asked.name,
        nthreads=asked.cores,
        resources=resources,
        security=security(asked.ca, asked.cert, asked.key),
        memory_limit=0,
        death_timeout=settings.CUT_OFF_S if asked.once else None,
        local_directory=str(work.HERE.scratch),
        dashboard=False,
        dashboard_address="127.0.0.1:0",
    )
    closing: list[asyncio.Task[object]] = []
    loop = asyncio.get_running_loop()

    def end() -> None:
        work.end_all()
        closing.append(loop.create_task(worker.close(timeout=5, executor_wait=False, reason="told to end")))

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    await worker
    print(f"worker {asked.name} at {worker.address}", flush=True)
    while worker.status in (Status.running, Status.paused):
        await asyncio.sleep(LOOK_S)
    await asyncio.to_thread(work.end_all)  # it waits for its runs before it has ended
    await worker.finished()
    return bool(closing)
