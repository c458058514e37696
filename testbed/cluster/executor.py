"""Has the cells of a study made on many machines. What is finished is known here alone: a scheduler that dies, or a
worker, takes nothing with it that is not asked for again."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import queue
import shutil
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from distributed import Client, Future, KilledWorker

from testbed import paths
from testbed.cluster import model, settings, work
from testbed.cluster.canary import Fingerprint, differences, fingerprint
from testbed.cluster.model import CORE, REAL_PACKETS, Cluster
from testbed.cluster.packed import Damaged, dumps, loads, places, unpack
from testbed.cluster.tls import security
from testbed.cluster.work import Answer, Failed
from testbed.engines import Engine
from testbed.errors import CannotRun, RunFailed
from testbed.runner.interrupts import uninterruptible
from testbed.runner.progress import Progress
from testbed.study.executor import Ended, Executor, Found, Key, On, Study
from testbed.study.side_by_side import InJob

ALLOWED_FAILURES = 3
"""So many workers may be lost with a run, or send it damaged, before the study ends."""
CHUNK_S = 1.0
"""Runs that are shorter go several at once, so that scheduling costs little beside them."""
AHEAD = 2
"""So many chunks per core a worker has at hand, so that it need not wait for the next."""
LOOK_S = 0.5
"""How often it is looked which workers there are."""
AWAY_S = 600.0
"""So long is waited for a scheduler, or for the first worker."""
FETCH_S = 120.0
RECENT = 0.3
"""Weight of the last chunk in what a run is taken to cost."""

_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)
_Error = (OSError, TimeoutError, RuntimeError)
"""What Dask says of a scheduler that is away."""


class _Forgotten(Exception):
    """The scheduler is another, or has started anew: it knows nothing of what it was asked for."""


@dataclass
class Worker:
    """One that is there. A worker that starts anew has another address, and is tried anew."""

    name: str
    address: str
    cores: int
    real_packets: bool
    state: str = "new"
    """``new``, ``asked`` (its small run is on), ``fit`` or ``refused``."""


@dataclass
class Flight(Generic[Key]):
    """What a worker was asked for; without keys it is its small run."""

    worker: Worker
    keys: Sequence[Key]


@dataclass
class Tally:
    """What happened on the way, to be told at the end."""

    by_host: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    damaged: int = 0

    def text(self) -> str:
        """In a line."""
        hosts = ", ".join(f"{name} {count}" for name, count in sorted(self.by_host.items()))
        lost = f"; {self.lost} lost with their worker and made again" if self.lost else ""
        damaged = f"; {self.damaged} arrived damaged and were made again" if self.damaged else ""
        return f"by host: {hosts}{lost}{damaged}"


@dataclass(frozen=True)
class Site:
    """Where a cluster and its workers come from."""

    find: Callable[[], Cluster] = model.read
    """The cluster as it is now; raises CannotRun where there is none."""
    coming: Callable[[], bool] = lambda: False
    """Whether a worker may come yet, where none has for ``patience_s``."""
    patience_s: float = AWAY_S
    hint: str = "./run.sh cluster status"


class OnCluster(Executor):
    """On the workers of a cluster."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cluster = site.find()
        self.submitter = uuid.uuid4().hex[:12]
        self.connection: Client | None = None
        self._own: dict[frozenset[str], Fingerprint] = {}

    def width(self, engine: Engine) -> int:
        """A run per core where time is virtual, else one per host that can make such runs."""
        if engine.exact():
            return sum(host.cores for host in self.cluster.hosts)
        return max(1, sum(host.can.mininet for host in self.cluster.hosts))

    def make(self, study: Study[Key, Found], keys: Sequence[Key], ended: Ended[Key, Found], on: On[Key]) -> None:
        """In chunks, each given to one worker."""
        _Making(self, study, keys, ended, on).all()

    def own(self, names: frozenset[str]) -> Fingerprint:
        """This machine's small runs."""
        if names not in self._own:
            place = paths.results() / ".canary" / self.submitter
            try:
                self._own[names] = fingerprint(sorted(names), place)
            finally:
                _remove(place)
        return self._own[names]

    def client(self, progress: Progress) -> Client:
        """The connection to the scheduler, made anew where it was lost; waits for a scheduler that is away."""
        if self.connection is not None and self.connection.status == "running":
            return self.connection
        self.drop()
        begun_s, told = time.monotonic(), False
        while True:
            with suppress(CannotRun):
                self.cluster = self.site.find()  # there may be another scheduler meanwhile
            try:
                cluster = self.cluster
                self.connection = Client(
                    cluster.scheduler,
                    security=security(cluster.ca, cluster.cert, cluster.key),
                    timeout=5,
                    set_as_default=False,
                )
                return self.connection
            except _Error as error:
                if time.monotonic() - begun_s > AWAY_S:
                    raise CannotRun(
                        f"the scheduler {self.cluster.scheduler} has not answered for {AWAY_S:.0f} s: {error}",
                        self.site.hint,
                    ) from error
                if not told:
                    progress.say(f"  the scheduler {self.cluster.scheduler} does not answer; waiting for it")
                    told = True
                time.sleep(LOOK_S)

    def drop(self) -> None:
        """Without a word to the scheduler."""
        client, self.connection = self.connection, None
        if client is not None:
            with suppress(*_Error):
                client.close(timeout=1)

    def leave(self) -> None:
        """End what is still on for this submitter."""
        client = self.connection
        if client is not None and client.status == "running":
            with suppress(*_Error):
                client.run(work.forget, self.submitter, on_error="ignore")
        self.drop()


@contextmanager
def on_cluster(site: Site = Site()) -> Iterator[OnCluster]:
    """This machine's cluster, or another site's, for a study or several.

    Raises:
        CannotRun: there is none.
        BadInput: its file is not one.
    """
    settings.apply()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters of it is told by the study
    executor = OnCluster(site)
    try:
        yield executor
    finally:
        with uninterruptible():
            executor.leave()


class _Making(Generic[Key, Found]):
    """Cells while they are made, all at the same width."""

    def __init__(
        self, executor: OnCluster, study: Study[Key, Found], keys: Sequence[Key], ended: Ended[Key, Found], on: On[Key]
    ) -> None:
        self.executor, self.study, self.ended, self.on = executor, study, ended, on
        self.progress = study.progress
        self.waiting = deque(keys)
        self.lost_with: dict[Key, list[str]] = {}
        """Workers that a cell was lost with, or that sent it damaged."""
        self.flying: dict[Future, Flight[Key]] = {}
        self.landed: queue.Queue[Future] = queue.Queue()
        self.workers: dict[str, Worker] = {}
        self.refused: dict[str, str] = {}
        self.looked_s = self.alone_s = float("-inf")
        self.begun_s = time.monotonic()
        self.run_s: float | None = None
        """What a run takes on its worker, as far as known."""
        self.made = 0
        self.tally = Tally()
        engines = {study.engine_of(key) for key in keys}
        self.names = frozenset(engine.name for engine in engines)
        self.exact = all(engine.exact() for engine in engines)
        self.roots = places(paths.results())
        self.packed_study = dumps(study.quiet(), self.roots)

    def all(self) -> None:
        """Until there is nothing to be made."""
        self.executor.client(self.progress)
        while self.waiting or any(flight.keys for flight in self.flying.values()):
            try:
                self._look()
                self._give()
                self._take()
            except _Forgotten:
                self._ask_again()
            except _Error:
                if self._scheduler_answers():
                    raise
                self._ask_again()
            self.on([key for flight in self.flying.values() for key in flight.keys], self._where())
        self.progress.say(f"  {self.tally.text()}")

    def _client(self) -> Client:
        """The connection by which all that is on was asked for."""
        client = self.executor.connection
        if client is None or client.status != "running":
            raise _Forgotten
        return client

    def _scheduler_answers(self) -> bool:
        try:
            client = self._client()
            return bool(client.sync(client.scheduler.identity))
        except (_Forgotten, *_Error):
            return False

    def _ask_again(self) -> None:
        """The scheduler has forgotten everything."""
        for flight in self.flying.values():
            self.waiting.extendleft(reversed(flight.keys))
        self.flying.clear()
        self.workers.clear()
        self.executor.drop()
        self.executor.client(self.progress)

    def _look(self) -> None:
        """Which workers there are now: those that are gone have lost their runs, new ones make a small one first."""
        client = self._client()
        if time.monotonic() - self.looked_s < LOOK_S:
            return
        self.looked_s = time.monotonic()
        there = client.sync(client.scheduler.identity, n_workers=-1)["workers"]
        for address in [address for address in self.workers if address not in there]:
            self._gone(self.workers.pop(address))
        for address, facts in there.items():
            if address not in self.workers:
                resources = facts["resources"]
                self.workers[address] = Worker(
                    str(facts["name"]), address, int(resources.get(CORE, 1)), REAL_PACKETS in resources
                )
        self._is_anybody_fit()

    def _is_anybody_fit(self) -> None:
        """Raise CannotRun where nobody there is, or where nobody has come for long."""
        if any(worker.state != "refused" for worker in self.workers.values()):
            self.alone_s = float("-inf")
            return
        if self.workers:
            told = "\n".join(f"{name}: {why}" for name, why in sorted(self.refused.items()))
            raise CannotRun(f"no host of the cluster is fit for this study\n{told}", "./run.sh cluster up INVENTORY")
        if self.alone_s == float("-inf"):
            self.alone_s = time.monotonic()
            self.progress.say("  no worker is connected; waiting")
        site = self.executor.site
        if time.monotonic() - self.alone_s > site.patience_s:
            if not site.coming():
                raise CannotRun(f"no worker of the cluster has connected for {site.patience_s:.0f} s", site.hint)
            self.alone_s = time.monotonic()

    def _gone(self, worker: Worker) -> None:
        """What it had goes to others; of that what it had not begun is as good as new."""
        mine = [future for future, flight in self.flying.items() if flight.worker is worker]
        for position, future in enumerate(mine):
            keys = self.flying.pop(future).keys
            self.waiting.extendleft(reversed(keys))
            for key in keys if position < worker.cores else ():
                self.tally.lost += 1
                self._count(key, worker, "its worker was lost")
            future.cancel(force=True)
        self.progress.say(f"  {worker.name} is lost; other workers get its runs")

    def _count(self, key: Key, worker: Worker, why: str) -> None:
        hosts = self.lost_with.setdefault(key, [])
        hosts.append(worker.name)
        if len(hosts) >= ALLOWED_FAILURES:
            raise RunFailed(
                f"{self.study.name(key)}: tried {len(hosts)} times, on {', '.join(hosts)}; {why}",
                "What is finished is kept.",
            )

    def _give(self) -> None:
        for worker in self.workers.values():
            if worker.state == "new":
                worker.state = "asked"
                self._submit(Flight(worker, ()), work.canary, sorted(self.names))
        for worker in [worker for worker in self.workers.values() if worker.state == "fit"]:
            while self._at_hand(worker) < self._window(worker) and (chunk := self._chunk(worker)):
                packed = [dumps(key, self.roots) for key in chunk]
                self._submit(Flight(worker, chunk), work.runs, self.packed_study, packed)

    def _at_hand(self, worker: Worker) -> int:
        return sum(flight.worker is worker for flight in self.flying.values())

    def _window(self, worker: Worker) -> int:
        if not self.exact:
            return 1
        return worker.cores * (AHEAD if self.run_s is not None and self.run_s < 10 * CHUNK_S else 1)

    def _chunk(self, worker: Worker) -> list[Key]:
        """The next cells, about :data:`CHUNK_S` of work; one of which a worker was lost goes alone."""
        first = next((key for key in self.waiting if not self._better_elsewhere(key, worker)), None)
        if first is None:
            return []
        cores = sum(worker.cores for worker in self.workers.values() if worker.state == "fit")
        size = 1
        if self.exact and self.run_s is not None:
            size = max(1, min(int(CHUNK_S / self.run_s), len(self.waiting) // (2 * cores)))
        chunk = [first]
        self.waiting.remove(first)
        while len(chunk) < size and first not in self.lost_with and self.waiting[0] not in self.lost_with:
            chunk.append(self.waiting.popleft())
        return chunk

    def _better_elsewhere(self, key: Key, worker: Worker) -> bool:
        """Whether it came to nothing on this worker, and there are others."""
        hosts = self.lost_with.get(key, ())
        fit = (other.name for other in self.workers.values() if other.state == "fit")
        return worker.name in hosts and any(name not in hosts for name in fit)

    def _submit(self, flight: Flight[Key], do: Callable[..., Any], *given: Any) -> None:
        worker = flight.worker
        resources = {CORE: 1} if self.exact or not flight.keys else {REAL_PACKETS: 1, CORE: worker.cores}
        future = self._client().submit(
            do,
            *given,
            self.executor.submitter,
            key=f"{do.__name__}-{self.executor.submitter}-{uuid.uuid4().hex}",
            workers=[worker.address],
            allow_other_workers=False,
            resources=resources,
            pure=False,
        )
        self.flying[future] = flight
        future.add_done_callback(self.landed.put)

    def _take(self) -> None:
        """What has come; waits a little for it."""
        try:
            future = self.landed.get(timeout=LOOK_S)
        except queue.Empty:
            return
        while True:
            self._take_one(future)
            try:
                future = self.landed.get_nowait()
            except queue.Empty:
                return

    def _take_one(self, future: Future) -> None:
        flight = self.flying.get(future)
        if flight is None:
            return  # it was given to another meanwhile
        try:
            answer = future.result(timeout=FETCH_S)
        except _CANCELLED as error:
            raise _Forgotten from error
        except (KilledWorker, TimeoutError):
            self.workers.pop(flight.worker.address, None)
            self._gone(flight.worker)
            return
        del self.flying[future]
        if not flight.keys:
            self._judge(flight.worker, answer)
            return
        for key, (one, seconds) in zip(flight.keys, answer, strict=True):
            self._arrived(flight.worker, key, one, seconds)

    def _judge(self, worker: Worker, answer: Answer) -> None:
        """Whether its small runs, and all that it says of itself, are as here."""
        try:
            if isinstance(answer, Failed):
                why = [str(answer.error)]
            else:
                theirs = loads(answer.checked(), self.roots)
                why = differences(self.executor.own(self.names), theirs)
        except Damaged as error:
            why = [f"its small run arrived damaged: {error}"]
        if not self.exact and not worker.real_packets:
            why = [*why, "it makes no runs on real packets"]
        worker.state = "refused" if why else "fit"
        if why and self.refused.get(worker.name) != "; ".join(why):
            self.refused[worker.name] = "; ".join(why)
            self.progress.say(f"  {worker.name} is left out: {self.refused[worker.name]}")

    def _arrived(self, worker: Worker, key: Key, answer: Answer, seconds: float) -> None:
        if isinstance(answer, Failed):
            if not answer.of_the_host:
                raise answer.error from InJob(answer.trace)
            if worker.state != "refused":
                self.progress.say(f"  {worker.name} is left out from here on: {answer.error}")
            worker.state = "refused"
            self.refused[worker.name] = str(answer.error)
            self._count(key, worker, str(answer.error))
            self.waiting.appendleft(key)
            return
        try:
            found, files = loads(answer.checked(), self.roots)
        except Damaged as error:
            self.tally.damaged += 1
            self.progress.say(f"  {self.study.name(key)} from {worker.name} is repeated: it arrived damaged, {error}")
            self._count(key, worker, f"it arrived damaged: {error}")
            self.waiting.appendleft(key)
            return
        unpack(files, self.roots["results"])
        self.run_s = seconds if self.run_s is None else (1 - RECENT) * self.run_s + RECENT * seconds
        self.made += 1
        self.tally.by_host[worker.name] = self.tally.by_host.get(worker.name, 0) + 1
        self.ended(key, self.study.arrived(key, found), seconds)

    def _where(self) -> str:
        fit = sorted(worker.name for worker in self.workers.values() if worker.state == "fit")
        rate = self.made / (time.monotonic() - self.begun_s)
        hosts = ", ".join(fit) if len(fit) <= 4 else f"{', '.join(fit[:3])}, …"
        return f"{len(fit)} hosts ({hosts}), {rate:.1f} runs/s"


def _remove(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    with suppress(OSError):
        place.parent.rmdir()
