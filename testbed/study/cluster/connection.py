"""The connection of a study to the scheduler of its cluster, which may be away for a while, or be another."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from distributed import Client

from testbed.errors import CannotRun
from testbed.runtime.progress import Progress
from testbed.study.cluster import model, work
from testbed.study.cluster.model import Cluster
from testbed.study.cluster.tls import security

AWAY_S = 600.0
"""So long is waited for a scheduler, or for the first worker."""
AGAIN_S = 0.5
AWAY = (OSError, TimeoutError, RuntimeError)
"""What Dask says of a scheduler that is away."""


class Forgotten(Exception):
    """The scheduler is another, or has started anew: it knows nothing of what it was asked for."""


@dataclass(frozen=True)
class Site:
    """Where a cluster and its workers come from."""

    find: Callable[[], Cluster] = model.read
    """The cluster as it is now; raises CannotRun where there is none."""
    coming: Callable[[], bool] = lambda: False
    """Whether a worker may come yet, where none has for ``patience_s``."""
    patience_s: float = AWAY_S
    hint: str = "./run.sh cluster status"


OWN = Site()
"""This machine's cluster."""


class Connection:
    """To the scheduler, by which a submitter is known."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cluster = site.find()
        self.submitter = uuid.uuid4().hex[:12]
        self._client: Client | None = None

    def client(self, progress: Progress) -> Client:
        """Made anew where it was lost; waits for a scheduler that is away.

        Raises:
            CannotRun: it has not answered for :data:`AWAY_S`.
        """
        if self._client is not None and self._client.status == "running":
            return self._client
        self.drop()
        begun_s, told = time.monotonic(), False
        while True:
            with suppress(CannotRun):
                self.cluster = self.site.find()  # there may be another scheduler meanwhile
            try:
                cluster = self.cluster
                self._client = Client(
                    cluster.scheduler,
                    security=security(cluster.ca, cluster.cert, cluster.key),
                    timeout=5,
                    set_as_default=False,
                )
                return self._client
            except AWAY as error:
                if time.monotonic() - begun_s > AWAY_S:
                    raise CannotRun(
                        "cluster.scheduler-silent",
                        "the scheduler {scheduler} has not answered for {away_s:.0f} s: {error}",
                        "{hint}",
                        scheduler=self.cluster.scheduler,
                        away_s=AWAY_S,
                        error=error,
                        hint=self.site.hint,
                    ) from error
                if not told:
                    progress.say(f"  the scheduler {self.cluster.scheduler} does not answer; waiting for it")
                    told = True
                time.sleep(AGAIN_S)

    def same(self) -> Client:
        """The one by which all that is on was asked for; raises :class:`Forgotten` where that was lost."""
        if self._client is None or self._client.status != "running":
            raise Forgotten
        return self._client

    def answers(self) -> bool:
        """Whether the scheduler is there, and still knows what it was asked for."""
        try:
            client = self.same()
            return bool(client.sync(client.scheduler.identity))
        except (Forgotten, *AWAY):
            return False

    def drop(self) -> None:
        """Without a word to the scheduler."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(*AWAY):
                client.close(timeout=1)

    def leave(self) -> None:
        """End what is still on for this submitter."""
        if self._client is not None and self._client.status == "running":
            with suppress(*AWAY):
                self._client.run(work.forget, self.submitter, on_error="ignore")
        self.drop()
