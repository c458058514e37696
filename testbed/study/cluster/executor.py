"""Has the cells of a study made on many machines. What is finished is known here alone: a scheduler that dies, or a
worker, takes nothing with it that is not asked for again."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import pickle
import queue
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from distributed import Future, KilledWorker

from testbed import engines, paths
from testbed.engines import Engine
from testbed.lab.host_links import HostLinks
from testbed.runtime.interrupts import uninterruptible
from testbed.study.cluster import hosts_file, settings, work
from testbed.study.cluster.canary import Fingerprint, differences, fingerprint
from testbed.study.cluster.connection import AWAY, OWN, Connection, Forgotten, Site
from testbed.study.cluster.model import CORE, REAL_PACKETS
from testbed.study.cluster.packed import Damaged, dumps, loads, places, unpack
from testbed.study.cluster.waiting import Waiting
from testbed.study.cluster.work import Answer, Failed
from testbed.study.cluster.workers import Worker, Workers
from testbed.study.executor import Ended, Executor, Found, Key, On, Study, Way
from testbed.study.side_by_side import InJob

LANDS_S = 0.5
"""So long is waited for a result, before it is looked what else there is to do."""
FETCH_S = 120.0

_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)


@dataclass
class Flight(Generic[Key]):
    """What a worker was asked for: runs, or without keys something of its own, whose answer ``judge`` gets."""

    worker: Worker
    keys: Sequence[Key]
    judge: Callable[[Worker, Answer], object] = lambda _worker, _answer: None


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


class OnCluster(Executor):
    """On the workers of a cluster."""

    def __init__(self, site: Site) -> None:
        self.connection = Connection(site)
        self._own: dict[frozenset[Way], Fingerprint] = {}

    def width(self, engine: Engine) -> int:
        """A run per core where time is virtual, else one per host that can make such runs."""
        hosts = self.connection.cluster.hosts
        if engine.exact():
            return sum(host.cores for host in hosts)
        return max(1, sum(host.can.processes for host in hosts))

    def make(self, study: Study[Key, Found], keys: Sequence[Key], ended: Ended[Key, Found], on: On[Key]) -> None:
        """In chunks, each given to one worker."""
        _Making(self, study, keys, ended, on).all()

    def own(self, ways: frozenset[Way]) -> Fingerprint:
        """This machine's small runs."""
        if ways not in self._own:
            place = paths.results() / ".canary" / self.connection.submitter
            try:
                self._own[ways] = fingerprint(sorted(ways), place)
            finally:
                _remove(place)
        return self._own[ways]


@contextmanager
def on_cluster(site: Site = OWN) -> Iterator[OnCluster]:
    """This machine's cluster, or another site's, for a study or several.

    Raises:
        CannotRun: there is none.
        BadInput: its file is not one.
    """
    settings.apply()
    for name in ("distributed", "distributed.client"):  # the second has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters of it is told by the study
    executor = OnCluster(site)
    try:
        yield executor
    finally:
        with uninterruptible():
            executor.connection.leave()


class _Making(Generic[Key, Found]):
    """Cells while they are made, all at the same width."""

    def __init__(
        self, executor: OnCluster, study: Study[Key, Found], keys: Sequence[Key], ended: Ended[Key, Found], on: On[Key]
    ) -> None:
        self.executor, self.study, self.ended, self.on = executor, study, ended, on
        self.connection, self.progress = executor.connection, study.progress
        self.ways = frozenset(study.way_of(key) for key in keys)
        self.exact = all(engines.named(way.engine).exact() for way in self.ways)
        self.waiting = Waiting(keys, study.name, exact=self.exact)
        self.workers = Workers(self.connection.site, self.progress)
        self.flying: dict[Future, Flight[Key]] = {}
        self.landed: queue.Queue[Future] = queue.Queue()
        self.begun_s = time.monotonic()
        self.made = 0
        self.tally = Tally()
        self.roots = places(paths.results())
        self.packed_study = dumps(study.quiet(), self.roots)

    def all(self) -> None:
        """Until there is nothing to be made."""
        self.connection.client(self.progress)
        while self.waiting or any(flight.keys for flight in self.flying.values()):
            try:
                self.workers.look(self.connection.same(), self._gone)
                self._give()
                self._take()
            except Forgotten:
                self._ask_again()
            except AWAY:
                if self.connection.answers():
                    raise
                self._ask_again()
            self.on([key for flight in self.flying.values() for key in flight.keys], self._where())
        self.progress.say(f"  {self.tally.text()}")

    def _ask_again(self) -> None:
        """The scheduler has forgotten everything."""
        for flight in self.flying.values():
            self.waiting.again(flight.keys)
        self.flying.clear()
        self.workers.there.clear()
        self.connection.drop()
        self.connection.client(self.progress)

    def _gone(self, worker: Worker) -> None:
        """What it had goes to others; of that what it had not begun is as good as new."""
        mine = [future for future, flight in self.flying.items() if flight.worker is worker]
        for position, future in enumerate(mine):
            keys = self.flying.pop(future).keys
            self.waiting.again(keys)
            for key in keys if position < worker.cores else ():
                self.tally.lost += 1
                self.waiting.came_to_nothing(key, worker.name, "its worker was lost")
            future.cancel(force=True)
        self.progress.say(f"  {worker.name} is lost; other workers get its runs")

    def _give(self) -> None:
        for worker in self.workers.there.values():
            if worker.state == "new":
                worker.state = "asked"
                self._submit(Flight(worker, (), self._judge), work.canary, sorted(self.ways))
        fit = self.workers.fit()
        cores = {worker.name: worker.cores for worker in fit}
        for worker in fit:
            window = self.waiting.window(worker.cores)
            while self._at_hand(worker) < window and (chunk := self.waiting.chunk(worker.name, cores)):
                packed = [dumps(key, self.roots) for key in chunk]
                self._submit(Flight(worker, chunk), work.runs, self.packed_study, packed)

    def _at_hand(self, worker: Worker) -> int:
        return sum(flight.worker is worker for flight in self.flying.values())

    def _submit(self, flight: Flight[Key], do: Callable[..., Any], *given: Any) -> None:
        worker = flight.worker
        alone = do is not work.canary and not self.exact
        resources = {REAL_PACKETS: 1, CORE: worker.cores} if alone else {CORE: 1}
        future = self.connection.same().submit(
            do,
            *given,
            self.connection.submitter,
            key=f"{do.__name__}-{self.connection.submitter}-{uuid.uuid4().hex}",
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
            future = self.landed.get(timeout=LANDS_S)
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
            raise Forgotten from error
        except (KilledWorker, TimeoutError):
            self.workers.there.pop(flight.worker.address, None)
            self._gone(flight.worker)
            return
        del self.flying[future]
        if not flight.keys:
            flight.judge(flight.worker, answer)
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
                why = differences(self.executor.own(self.ways), theirs)
        except Damaged as error:
            why = [f"its small run arrived damaged: {error}"]
        if not self.exact and not worker.real_packets:
            why = [*why, "it makes no runs on real packets"]
        if why or self.exact:
            self.workers.judged(worker, why)
            return
        middle = min(way.middle for way in self.ways)  # a command has one
        self._submit(Flight(worker, (), self._judge_links), work.links, middle)

    def _judge_links(self, worker: Worker, answer: Answer) -> None:
        """Whether they are what is asked."""
        try:
            if isinstance(answer, Failed):
                why = [f"its links could not be measured: {answer.error}"]
            else:
                links: HostLinks = pickle.loads(answer.checked())
                why = links.off()
                self.progress.say(f"  {worker.name}: links measured: {links.text()}")
                if folder := self.study.result_folder():
                    hosts_file.add(folder, worker.name, links)
        except Damaged as error:
            why = [f"what it measured of its links arrived damaged: {error}"]
        self.workers.judged(worker, why)

    def _arrived(self, worker: Worker, key: Key, answer: Answer, seconds: float) -> None:
        if isinstance(answer, Failed):
            if not answer.of_the_host:
                raise answer.error from InJob(answer.trace)
            self.workers.leave_out(worker, str(answer.error))
            self.waiting.came_to_nothing(key, worker.name, str(answer.error))
            self.waiting.again([key])
            return
        try:
            found, files = loads(answer.checked(), self.roots)
        except Damaged as error:
            self.tally.damaged += 1
            self.progress.say(f"  {self.study.name(key)} from {worker.name} is repeated: it arrived damaged, {error}")
            self.waiting.came_to_nothing(key, worker.name, f"it arrived damaged: {error}")
            self.waiting.again([key])
            return
        unpack(files, self.roots["results"])
        self.waiting.took(seconds)
        self.made += 1
        self.tally.by_host[worker.name] = self.tally.by_host.get(worker.name, 0) + 1
        self.ended(key, self.study.arrived(key, found), seconds)

    def _where(self) -> str:
        fit = sorted(worker.name for worker in self.workers.fit())
        rate = self.made / (time.monotonic() - self.begun_s)
        hosts = ", ".join(fit) if len(fit) <= 4 else f"{', '.join(fit[:3])}, …"
        return f"{len(fit)} hosts ({hosts}), {rate:.1f} runs/s"


def _remove(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    with suppress(OSError):
        place.parent.rmdir()
