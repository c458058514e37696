"""The scheduler as a program: ``python -m testbed.study.cluster.scheduler``. Dask's, over TLS, with no dashboard."""

from __future__ import annotations

import argparse
import asyncio
import resource
import signal
from pathlib import Path

from distributed import Scheduler

from testbed.study.cluster import settings
from testbed.study.cluster.tls import security


def main() -> None:
    """Until it is told to end."""
    parser = argparse.ArgumentParser(prog="testbed.study.cluster.scheduler")
    parser.add_argument("--address", default="0.0.0.0:8786", help="HOST:PORT to listen at")
    add_tls(parser)
    asked = parser.parse_args()
    settings.apply()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)  # each worker takes some, and 1024 are usual
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(_serve(asked))


def add_tls(parser: argparse.ArgumentParser) -> None:
    """The options of whoever speaks in a cluster."""
    for name in ("ca", "cert", "key"):
        parser.add_argument(f"--{name}", type=Path, required=True, help=f"the cluster's {name}, PEM")


async def _serve(asked: argparse.Namespace) -> None:
    host, _, port = asked.address.rpartition(":")
    scheduler = Scheduler(
        protocol="tls",
        host=host,
        port=int(port),
        security=security(asked.ca, asked.cert, asked.key),
        dashboard=False,
        dashboard_address="127.0.0.1:0",
    )
    loop = asyncio.get_running_loop()
    closing: list[asyncio.Task[object]] = []

    def end() -> None:
        closing.append(loop.create_task(scheduler.close(reason="told to end")))

    async with scheduler:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end)
        print(f"scheduler at {scheduler.address}", flush=True)
        await scheduler.finished()


if __name__ == "__main__":
    main()
