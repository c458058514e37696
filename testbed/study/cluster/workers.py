"""Workers that come and go while a study is made, and which of them are fit for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from distributed import Client

from testbed.errors import CannotRun
from testbed.runtime.progress import Progress
from testbed.study.cluster.connection import Site
from testbed.study.cluster.model import CORE, REAL_PACKETS

LOOK_S = 0.5
"""How often it is looked which there are."""


@dataclass
class Worker:
    """One that is there. A worker that starts anew has another address, and is tried anew."""

    name: str
    address: str
    cores: int
    real_packets: bool
    state: str = "new"
    """``new``, ``asked`` (its small run is on), ``fit`` or ``refused``."""


class Workers:
    """Those that the scheduler knows, in the order that they came in."""

    def __init__(self, site: Site, progress: Progress) -> None:
        self.site, self.progress = site, progress
        self.there: dict[str, Worker] = {}
        self.refused: dict[str, str] = {}
        """Why, by name."""
        self.looked_s = self.alone_s = float("-inf")

    def fit(self) -> list[Worker]:
        """Those that get runs."""
        return [worker for worker in self.there.values() if worker.state == "fit"]

    def look(self, client: Client, gone: Callable[[Worker], object]) -> None:
        """Which there are now; ``gone`` gets those that are no more.

        Raises:
            CannotRun: nobody is fit of those who are there, or nobody has come for long.
        """
        if time.monotonic() - self.looked_s < LOOK_S:
            return
        self.looked_s = time.monotonic()
        there = client.sync(client.scheduler.identity, n_workers=-1)["workers"]
        for address in [address for address in self.there if address not in there]:
            gone(self.there.pop(address))
        for address, facts in there.items():
            if address not in self.there:
                resources = facts["resources"]
                self.there[address] = Worker(
                    str(facts["name"]), address, int(resources.get(CORE, 1)), REAL_PACKETS in resources
                )
        self._is_anybody_fit()

    def judged(self, worker: Worker, why: Sequence[str]) -> None:
        """It has made its small run; ``why`` it gets none others, if so."""
        worker.state = "refused" if why else "fit"
        if why and self.refused.get(worker.name) != "; ".join(why):
            self.refused[worker.name] = "; ".join(why)
            self.progress.say(f"  {worker.name} is left out: {self.refused[worker.name]}")

    def leave_out(self, worker: Worker, why: str) -> None:
        """It was fit, and is no more."""
        if worker.state != "refused":
            self.progress.say(f"  {worker.name} is left out from here on: {why}")
        worker.state = "refused"
        self.refused[worker.name] = why

    def _is_anybody_fit(self) -> None:
        if any(worker.state != "refused" for worker in self.there.values()):
            self.alone_s = float("-inf")
            return
        if self.there:
            told = "\n".join(f"{name}: {why}" for name, why in sorted(self.refused.items()))
            raise CannotRun(
                "cluster.no-fit-host",
                "no host of the cluster is fit for this study\n{told}",
                "./run.sh cluster up INVENTORY",
                told=told,
            )
        if self.alone_s == float("-inf"):
            self.alone_s = time.monotonic()
            self.progress.say("  no worker is connected; waiting")
        if time.monotonic() - self.alone_s > self.site.patience_s:
            if not self.site.coming():
                raise CannotRun(
                    "cluster.no-worker",
                    "no worker of the cluster has connected for {patience_s:.0f} s",
                    "{hint}",
                    patience_s=self.site.patience_s,
                    hint=self.site.hint,
                )
            self.alone_s = time.monotonic()
