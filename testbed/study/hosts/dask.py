"""Distributed executor: cells of a study on the workers of a Dask cluster.

The submitter alone knows what is finished: what a scheduler or worker loses is requested again.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import pickle
import shutil
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

from distributed import Client, Future, KilledWorker, Security, as_completed

from testbed import engines, paths
from testbed.engines import Engine
from testbed.errors import CannotRun, RunFailed
from testbed.lab.host_links import HostLinks
from testbed.runtime.interrupts import uninterruptible
from testbed.runtime.progress import Progress
from testbed.study.executor import Ended, Executor, Found, Key, On, Study, Way
from testbed.study.hosts import cluster, worker
from testbed.study.hosts.cluster import CORE, REAL_PACKETS, configure_dask
from testbed.study.hosts.fitness import Fingerprint, add_measurement, fingerprint
from testbed.study.hosts.transfer import Damaged, dumps, loads, roots, unpack
from testbed.study.hosts.worker import Answer, Failed
from testbed.study.side_by_side import InJob

ALLOWED_FAILURES = 3
"""So many workers may be lost with a run, or send it damaged, before the study ends."""
CHUNK_S = 1.0
"""Runs that are shorter go several at once, so that scheduling costs little beside them."""
AHEAD = 2
"""So many chunks per core a worker has at hand, so that it need not wait for the next."""
RECENT = 0.3
"""Weight of the last run in what one is taken to cost."""
AWAY_S = 600.0
"""Timeout of a scheduler, and of the first worker."""
RETRY_S = 0.5
LOOK_S = 0.5
"""How often the scheduler's list of workers is read."""
POLL_S = 0.02
FETCH_S = 120.0
"""Timeout of a result."""
_AWAY = (OSError, TimeoutError, RuntimeError)
"""What Dask raises where a scheduler is away."""
_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)


class Forgotten(Exception):
    """The connection was lost, or the scheduler began anew: all futures are cancelled."""


class Endpoint(NamedTuple):
    """A scheduler, and the size of its cluster."""

    scheduler: str
    security: Security
    cores: int
    real_packets: int
    """Hosts that make runs on real packets."""


def _own() -> Endpoint:
    found = cluster.read()
    cores, real = sum(host.cores for host in found.hosts), sum(host.can.processes for host in found.hosts)
    return Endpoint(found.scheduler, found.security(), cores, real)


@dataclass(frozen=True)
class Site:
    """Where a cluster and its workers come from; by default, that of ``cluster up``."""

    find: Callable[[], Endpoint] = _own
    """The cluster as it is now; raises CannotRun where there is none."""
    is_pending: Callable[[], bool] = lambda: False
    """Whether a worker may come yet, where none has for ``patience_s``."""
    patience_s: float = AWAY_S
    hint: str = "./run.sh cluster status"


class TaskQueue(Generic[Key]):
    """Cells that wait for a worker, failed ones first. On real packets (not ``exact``) they go one by one."""

    def __init__(self, keys: Sequence[Key], name: Callable[[Key], str], *, exact: bool) -> None:
        self.keys, self.name, self.exact = deque(keys), name, exact
        self.failed_on: dict[Key, list[str]] = {}
        """Hosts by which a cell was lost, could not be made, or was sent damaged."""
        self.run_s: float | None = None
        """What a run takes on its worker, as far as known."""

    def requeue(self, keys: Sequence[Key]) -> None:
        """Put cells before all others."""
        self.keys.extendleft(reversed(keys))

    def failed(self, key: Key, host: str, why: str) -> None:
        """Count a failure of a cell; raises RunFailed at the last that is allowed."""
        on = self.failed_on.setdefault(key, [])
        on.append(host)
        if len(on) >= ALLOWED_FAILURES:
            raise RunFailed(
                "cluster.gave-up",
                "{name}: tried {times} times, on {hosts}; {why}",
                "What is finished is kept.",
                name=self.name(key),
                times=len(on),
                hosts=", ".join(on),
                why=why,
            )

    def took(self, seconds: float) -> None:
        """Learn from a run how long one takes."""
        self.run_s = seconds if self.run_s is None else (1 - RECENT) * self.run_s + RECENT * seconds

    def window(self, cores: int) -> int:
        """How many chunks a worker may have at hand."""
        if not self.exact:
            return 1
        return cores * (AHEAD if self.run_s is not None and self.run_s < 10 * CHUNK_S else 1)

    def chunk(self, host: str, cores: Mapping[str, int]) -> list[Key]:
        """The next cells for a host, about :data:`CHUNK_S` of work; one that failed before goes alone, and elsewhere
        if it can. ``cores`` has those of all fit hosts."""

        def is_better_elsewhere(key: Key) -> bool:
            on = self.failed_on.get(key, ())
            return host in on and not set(cores) <= set(on)

        first = next((key for key in self.keys if not is_better_elsewhere(key)), None)
        if first is None:
            return []
        size = 1
        if self.exact and self.run_s is not None:
            size = max(1, min(int(CHUNK_S / self.run_s), len(self.keys) // (2 * sum(cores.values()))))
        chunk = [first]
        self.keys.remove(first)
        while len(chunk) < size and first not in self.failed_on and self.keys[0] not in self.failed_on:
            chunk.append(self.keys.popleft())
        return chunk


class Connection:
    """A submitter's, to a scheduler that may be away for a while, or be another."""

    def __init__(self, site: Site) -> None:
        self.site, self.endpoint = site, site.find()
        self.submitter = uuid.uuid4().hex[:12]
        self._client: Client | None = None

    def connect(self, progress: Progress) -> Client:
        """Connect where the connection is lost; raises CannotRun after :data:`AWAY_S`."""
        begun_s, told = time.monotonic(), False
        while not self.is_open():
            self.drop()
            with suppress(CannotRun):
                self.endpoint = self.site.find()  # there may be another scheduler meanwhile
            scheduler, security = self.endpoint[:2]
            try:
                self._client = Client(scheduler, security=security, timeout=5, set_as_default=False)
            except _AWAY as error:
                if time.monotonic() - begun_s > AWAY_S:
                    raise CannotRun(
                        "cluster.scheduler-silent",
                        "the scheduler {scheduler} has not answered for {away_s:.0f} s: {error}",
                        "{hint}",
                        scheduler=scheduler,
                        away_s=AWAY_S,
                        error=error,
                        hint=self.site.hint,
                    ) from error
                if not told:
                    progress.say(f"  the scheduler {scheduler} does not answer; waiting for it")
                told = True
                time.sleep(RETRY_S)
        return self.client()

    def is_open(self) -> bool:
        """Whether the connection is the one by which all futures were made."""
        return self._client is not None and self._client.status == "running"

    def client(self) -> Client:
        """The open connection's; raises :class:`Forgotten` where it is lost."""
        if self._client is None or not self.is_open():
            raise Forgotten
        return self._client

    def answers(self) -> bool:
        """Whether the scheduler is there, and still knows the futures."""
        try:
            return bool(self.client().sync(self.client().scheduler.identity))
        except (Forgotten, *_AWAY):
            return False

    def drop(self) -> None:
        """Close it without a word to the scheduler."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(*_AWAY):
                client.close(timeout=1)

    def close(self) -> None:
        """End what is still in progress for this submitter."""
        with suppress(Forgotten, *_AWAY):
            self.client().run(worker.forget, self.submitter, on_error="ignore")
        self.drop()


class DaskExecutor(Executor):
    """On the workers of a cluster."""

    def __init__(self, site: Site) -> None:
        self.connection = Connection(site)
        self._fingerprints: dict[frozenset[Way], Fingerprint] = {}

    def width(self, engine: Engine) -> int:
        """A run per core where time is virtual, else one per host that can make such runs."""
        endpoint = self.connection.endpoint
        return endpoint.cores if engine.exact() else max(1, endpoint.real_packets)

    def make(self, study: Study[Key, Found], keys: Sequence[Key], ended: Ended[Key, Found], on: On[Key]) -> None:
        """In chunks, each on one worker."""
        _Making(self, study, keys, ended, on).all()

    def fingerprint(self, ways: frozenset[Way]) -> Fingerprint:
        """This machine's."""
        if ways not in self._fingerprints:
            place = paths.results() / ".canary" / self.connection.submitter
            try:
                self._fingerprints[ways] = fingerprint(sorted(ways), place)
            finally:
                shutil.rmtree(place, ignore_errors=True)
                with suppress(OSError):
                    place.parent.rmdir()
        return self._fingerprints[ways]


@contextmanager
def dask_executor(site: Site | None = None) -> Iterator[DaskExecutor]:
    """An executor for a study or several, on this machine's cluster or another site's.

    Raises:
        CannotRun: there is none.
        BadInput: its file is not one.
    """
    configure_dask()
    for name in ("distributed", "distributed.client"):  # the second has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters of it is told by the study
    executor = DaskExecutor(site or Site())
    try:
        yield executor
    finally:
        with uninterruptible():
            executor.connection.close()


@dataclass(eq=False)
class Host:
    """A worker that is there. One that starts anew has another address, and is tested anew."""

    name: str
    address: str
    cores: int
    real_packets: bool
    state: str = "new"
    """``new``, ``testing``, ``fit`` or ``unfit``."""


@dataclass
class Task(Generic[Key]):
    """What a worker was given: cells, or without keys a test of it, whose answer ``judge`` gets."""

    host: Host
    keys: Sequence[Key]
    judge: Callable[[Host, Answer], object] = lambda _host, _answer: None


class _Making(Generic[Key, Found]):
    """Cells while they are made, all on engines of the same width."""

    def __init__(
        self,
        executor: DaskExecutor,
        study: Study[Key, Found],
        keys: Sequence[Key],
        ended: Ended[Key, Found],
        on: On[Key],
    ) -> None:
        self.executor, self.study, self.ended, self.on = executor, study, ended, on
        self.connection, self.progress = executor.connection, study.progress
        self.ways = frozenset(study.way_of(key) for key in keys)
        self.exact = all(engines.named(way.engine).exact() for way in self.ways)
        self.queue = TaskQueue(keys, study.name, exact=self.exact)
        self.tasks: dict[Future, Task[Key]] = {}
        self.hosts: dict[str, Host] = {}
        self.unfit: dict[str, str] = {}
        """Why, by name."""
        self.looked_s = self.alone_s = float("-inf")
        self.begun_s = time.monotonic()
        self.runs_by_host: Counter[str] = Counter()
        self.lost = self.damaged = 0
        self.roots = roots(paths.results())
        self.packed_study = dumps(study.quiet(), self.roots)
        self._connect()

    def all(self) -> None:
        """Make them until none is left."""
        while self.queue.keys or any(task.keys for task in self.tasks.values()):
            try:
                self._look()
                self._submit_next()
                self._wait()
            except (Forgotten, *_AWAY) as error:
                if not isinstance(error, Forgotten) and self.connection.answers():
                    raise
                self._restart()
            self.on([key for task in self.tasks.values() for key in task.keys], self._where())
        hosts = ", ".join(f"{name} {count}" for name, count in sorted(self.runs_by_host.items()))
        lost = f"; {self.lost} lost with their worker and made again" if self.lost else ""
        damaged = f"; {self.damaged} arrived damaged and were made again" if self.damaged else ""
        self.progress.say(f"  by host: {hosts}{lost}{damaged}")

    def _connect(self) -> None:
        self.completed = as_completed(loop=self.connection.connect(self.progress).loop)

    def _restart(self) -> None:
        """Submit anew what was submitted, of which the scheduler knows nothing any more."""
        for task in self.tasks.values():
            self.queue.requeue(task.keys)
        self.tasks.clear()
        self.hosts.clear()
        self.connection.drop()
        self._connect()

    def _look(self) -> None:
        """Update the hosts.

        Raises:
            CannotRun: all hosts are unfit, or none has come for long.
        """
        if time.monotonic() - self.looked_s < LOOK_S:
            return
        self.looked_s = time.monotonic()
        client = self.connection.client()
        workers = client.sync(client.scheduler.identity, n_workers=-1)["workers"]
        for host in [host for address, host in self.hosts.items() if address not in workers]:
            self._lose(host)
        for address, facts in workers.items():
            resources = facts["resources"]
            cores, real_packets = int(resources.get(CORE, 1)), REAL_PACKETS in resources
            self.hosts.setdefault(address, Host(str(facts["name"]), address, cores, real_packets))
        self._refuse_if_nobody_is_fit()

    def _refuse_if_nobody_is_fit(self) -> None:
        if any(host.state != "unfit" for host in self.hosts.values()):
            self.alone_s = float("-inf")
            return
        if self.hosts:
            raise CannotRun(
                "cluster.no-fit-host",
                "no host of the cluster is fit for this study\n{told}",
                "./run.sh cluster up INVENTORY",
                told="\n".join(f"{name}: {why}" for name, why in sorted(self.unfit.items())),
            )
        site = self.connection.site
        if self.alone_s == float("-inf"):
            self.alone_s = time.monotonic()
            self.progress.say("  no worker is connected; waiting")
        if time.monotonic() - self.alone_s > site.patience_s:
            if not site.is_pending():
                raise CannotRun(
                    "cluster.no-worker",
                    "no worker of the cluster has connected for {patience_s:.0f} s",
                    "{hint}",
                    patience_s=site.patience_s,
                    hint=site.hint,
                )
            self.alone_s = time.monotonic()

    def _lose(self, host: Host) -> None:
        """Give a host's cells to others; what it had not begun does not count as a failure."""
        self.hosts.pop(host.address, None)
        mine = [future for future, task in self.tasks.items() if task.host is host]
        for position, future in enumerate(mine):
            keys = self.tasks.pop(future).keys
            self.queue.requeue(keys)
            for key in keys if position < host.cores else ():
                self.lost += 1
                self.queue.failed(key, host.name, "its worker was lost")
            future.cancel(force=True)
        self.progress.say(f"  {host.name} is lost; other workers get its runs")

    def _submit_next(self) -> None:
        """Test new hosts, and fill the windows of fit ones."""
        cores = {host.name: host.cores for host in self.hosts.values() if host.state == "fit"}
        for host in self.hosts.values():
            if host.state == "new":
                host.state = "testing"
                self._submit(Task(host, (), self._judge_canary), worker.canary, sorted(self.ways))
            if host.state == "fit":
                room = self.queue.window(host.cores) - sum(task.host is host for task in self.tasks.values())
                while room > 0 and (chunk := self.queue.chunk(host.name, cores)):
                    packed = [dumps(key, self.roots) for key in chunk]
                    self._submit(Task(host, chunk), worker.runs, self.packed_study, packed)
                    room -= 1

    def _submit(self, task: Task[Key], do: Callable[..., Any], *given: Any) -> None:
        alone = do is not worker.canary and not self.exact
        future = self.connection.client().submit(
            do,
            *given,
            self.connection.submitter,
            key=f"{do.__name__}-{self.connection.submitter}-{uuid.uuid4().hex}",
            workers=[task.host.address],
            allow_other_workers=False,
            resources={REAL_PACKETS: 1, CORE: task.host.cores} if alone else {CORE: 1},
            pure=False,
        )
        self.tasks[future] = task
        self.completed.add(future)

    def _wait(self) -> None:
        """Take what has completed; waits for :data:`LOOK_S` at most."""
        until_s = time.monotonic() + LOOK_S
        while not self.completed.has_ready() and time.monotonic() < until_s:
            time.sleep(POLL_S)
        for future in self.completed.next_batch(block=False):
            self._take(future)

    def _take(self, future: Future) -> None:
        task = self.tasks.get(future)
        if task is None:
            return  # another host has it meanwhile
        try:
            answers = future.result(timeout=FETCH_S)
        except _CANCELLED as error:
            raise Forgotten from error
        except (KilledWorker, TimeoutError):
            self._lose(task.host)
            return
        del self.tasks[future]
        if not task.keys:
            task.judge(task.host, answers)
            return
        for key, (answer, seconds) in zip(task.keys, answers, strict=True):
            self._arrived(task.host, key, answer, seconds)

    def _judge_canary(self, host: Host, answer: Answer) -> None:
        """Compare its environment and small runs with those of this machine."""
        try:
            if isinstance(answer, Failed):
                why = [str(answer.error)]
            else:
                why = self.executor.fingerprint(self.ways).mismatches(pickle.loads(answer.checked()))
        except Damaged as error:
            why = [f"its small run arrived damaged: {error}"]
        if not self.exact and not host.real_packets:
            why.append("it makes no runs on real packets")
        if why or self.exact:
            self._judged(host, why)
            return
        middle = min(way.middle for way in self.ways)  # a command has one
        self._submit(Task(host, (), self._judge_links), worker.links, middle)

    def _judge_links(self, host: Host, answer: Answer) -> None:
        """Compare its links with the limits."""
        try:
            if isinstance(answer, Failed):
                why = [f"its links could not be measured: {answer.error}"]
            else:
                links: HostLinks = pickle.loads(answer.checked())
                why = links.off()
                self.progress.say(f"  {host.name}: links measured: {links.text()}")
                if folder := self.study.result_folder():
                    add_measurement(folder, host.name, links)
        except Damaged as error:
            why = [f"what it measured of its links arrived damaged: {error}"]
        self._judged(host, why)

    def _judged(self, host: Host, why: Sequence[str], since: str = "") -> None:
        """A host is fit, or is left out, which is told once."""
        told = "; ".join(why)
        is_news = host.state == "fit" or self.unfit.get(host.name) != told
        host.state = "unfit" if why else "fit"
        if why and is_news:
            self.progress.say(f"  {host.name} is left out{since}: {told}")
            self.unfit[host.name] = told

    def _arrived(self, host: Host, key: Key, answer: Answer, seconds: float) -> None:
        if isinstance(answer, Failed):
            if not answer.of_the_host:
                raise answer.error from InJob(answer.trace)
            if host.state == "fit":
                self._judged(host, [str(answer.error)], " from here on")
            self._failed(host, key, str(answer.error))
            return
        try:
            found, files = loads(answer.checked(), self.roots)
        except Damaged as error:
            self.damaged += 1
            self.progress.say(f"  {self.study.name(key)} from {host.name} is repeated: it arrived damaged, {error}")
            self._failed(host, key, f"it arrived damaged: {error}")
            return
        unpack(files, self.roots["results"])
        self.queue.took(seconds)
        self.runs_by_host[host.name] += 1
        self.ended(key, self.study.arrived(key, found), seconds)

    def _failed(self, host: Host, key: Key, why: str) -> None:
        self.queue.failed(key, host.name, why)
        self.queue.requeue([key])

    def _where(self) -> str:
        fit = sorted(host.name for host in self.hosts.values() if host.state == "fit")
        rate = self.runs_by_host.total() / (time.monotonic() - self.begun_s)
        hosts = ", ".join(fit) if len(fit) <= 4 else f"{', '.join(fit[:3])}, …"
        return f"{len(fit)} hosts ({hosts}), {rate:.1f} runs/s"
