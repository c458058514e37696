"""Distributed executor: jobs of a study on the workers of a Dask cluster.

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
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from distributed import Client, Future, KilledWorker, Security, as_completed

from testbed import paths
from testbed.engines import Engine
from testbed.errors import CannotRun, RunFailed
from testbed.lab.host_links import HostLinks
from testbed.runtime.interrupts import uninterruptible
from testbed.runtime.progress import Progress
from testbed.study.cell import Target
from testbed.study.executors import Executor
from testbed.study.hosts import cluster, worker
from testbed.study.hosts.cluster import CORE, REAL_PACKETS, configure_dask
from testbed.study.hosts.fitness import Fingerprint, add_measurement, fingerprint
from testbed.study.hosts.transfer import Damaged, dumps, loads, roots, unpack
from testbed.study.hosts.worker import Answer, Failed
from testbed.study.job import Done, Job
from testbed.study.pool import InJob

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


Item = TypeVar("Item", bound=Hashable)


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


class TaskQueue(Generic[Item]):
    """Jobs that wait for a worker, failed ones first. On real packets (not ``exact``) they go one by one."""

    def __init__(self, jobs: Iterable[Item] = (), *, exact: bool = True) -> None:
        self.jobs, self.exact = deque(jobs), exact
        self.failed_on: dict[Item, list[str]] = {}
        """Hosts by which a job was lost, could not be done, or was sent damaged."""
        self.run_s: float | None = None
        """What a run takes on its worker, as far as known."""

    def requeue(self, jobs: Sequence[Item]) -> None:
        """Put jobs before all others."""
        self.jobs.extendleft(reversed(jobs))

    def failed(self, job: Item, host: str, why: str) -> None:
        """Count a failure of a job; raises RunFailed at the last that is allowed."""
        on = self.failed_on.setdefault(job, [])
        on.append(host)
        if len(on) >= ALLOWED_FAILURES:
            raise RunFailed(
                "cluster.gave-up",
                "{name}: tried {times} times, on {hosts}; {why}",
                "What is finished is kept.",
                name=str(job),
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

    def chunk(self, host: str, cores: Mapping[str, int]) -> list[Item]:
        """The next jobs for a host, about :data:`CHUNK_S` of work; one that failed before goes alone, and elsewhere if
        it can. ``cores`` has those of all fit hosts."""

        def is_better_elsewhere(job: Item) -> bool:
            on = self.failed_on.get(job, ())
            return host in on and not set(cores) <= set(on)

        first = next((job for job in self.jobs if not is_better_elsewhere(job)), None)
        if first is None:
            return []
        size = 1
        if self.exact and self.run_s is not None:
            size = max(1, min(int(CHUNK_S / self.run_s), len(self.jobs) // (2 * sum(cores.values()))))
        chunk = [first]
        self.jobs.remove(first)
        while len(chunk) < size and first not in self.failed_on and self.jobs[0] not in self.failed_on:
            chunk.append(self.jobs.popleft())
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

    def forget(self) -> None:
        """End what is still in progress for this submitter, who goes on as another."""
        with suppress(Forgotten, *_AWAY):
            self.client().run(worker.forget, self.submitter, on_error="ignore")
        self.submitter = uuid.uuid4().hex[:12]


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
class Task:
    """What a worker was given: jobs, or without jobs a test of it, whose answer ``judge`` gets."""

    host: Host
    jobs: Sequence[Job]
    judge: Callable[[Host, Answer], object] = lambda _host, _answer: None
    begun_s: float = field(default_factory=time.monotonic)


class DaskExecutor(Executor):
    """On the workers of a cluster. What is submitted at a time is all in virtual time, or all on real packets."""

    def __init__(self, site: Site) -> None:
        self.connection = Connection(site)
        self._fingerprints: dict[frozenset[Target], Fingerprint] = {}
        self._begin(exact=True)

    def _begin(self, *, exact: bool) -> None:
        self.queue, self.targets, self.study = TaskQueue[Job](exact=exact), set[Target](), Path()
        self.tasks: dict[Future, Task] = {}
        self.completed: as_completed | None = None
        self.hosts: dict[str, Host] = {}
        self.unfit: dict[str, str] = {}
        """Why, by name."""
        self.looked_s = self.alone_s = float("-inf")
        self.begun_s = time.monotonic()
        self.runs_by_host: Counter[str] = Counter()
        self.lost = self.damaged = 0
        self.roots = roots(paths.results())

    def slots(self, engine: Engine) -> int:
        """A run per core where time is virtual, else one per host that can make such runs."""
        endpoint = self.connection.endpoint
        return endpoint.cores if engine.deterministic() else max(1, endpoint.real_packets)

    def submit(self, job: Job, *, first: bool = False) -> None:
        """Jobs go in chunks, each to one worker."""
        exact = job.cell.engine.deterministic()
        if exact != self.queue.exact:
            self.close()
            self._begin(exact=exact)
        self.study = job.study
        self.targets.add(job.cell.target)
        if first:
            self.queue.requeue([job])
        else:
            self.queue.jobs.append(job)

    def left(self) -> int:
        """Those in the queue, and those that workers have."""
        return len(self.queue.jobs) + sum(len(task.jobs) for task in self.tasks.values())

    def running(self) -> dict[str, float]:
        """Those that workers have."""
        now_s = time.monotonic()
        return {str(job): now_s - task.begun_s for task in self.tasks.values() for job in task.jobs}

    def where(self) -> str:
        """The fit hosts, and their rate."""
        fit = sorted(host.name for host in self.hosts.values() if host.state == "fit")
        rate = self.runs_by_host.total() / (time.monotonic() - self.begun_s)
        hosts = ", ".join(fit) if len(fit) <= 4 else f"{', '.join(fit[:3])}, …"
        return f"{len(fit)} hosts ({hosts}), {rate:.1f} runs/s"

    def wait(self, timeout_s: float) -> Iterator[Done]:
        """What has completed since."""
        try:
            if self.completed is None:
                self.completed = as_completed(loop=self.connection.connect(self.progress).loop)
            self._look()
            self._submit_next()
            until_s = time.monotonic() + timeout_s
            while not self.completed.has_ready() and time.monotonic() < until_s:
                time.sleep(POLL_S)
            for future in self.completed.next_batch(block=False):
                yield from self._take(future)
        except (Forgotten, *_AWAY) as error:
            if not isinstance(error, Forgotten) and self.connection.answers():
                raise
            for task in self.tasks.values():  # of which the scheduler knows nothing any more
                self.queue.requeue(task.jobs)
            self.tasks.clear()
            self.hosts.clear()
            self.connection.drop()
            self.completed = None

    def close(self) -> None:
        """End what workers still do."""
        if self.left():
            with uninterruptible():
                self.connection.forget()
        elif self.runs_by_host:
            hosts = ", ".join(f"{name} {count}" for name, count in sorted(self.runs_by_host.items()))
            lost = f"; {self.lost} lost with their worker and made again" if self.lost else ""
            damaged = f"; {self.damaged} arrived damaged and were made again" if self.damaged else ""
            self.progress.say(f"  by host: {hosts}{lost}{damaged}")
        self._begin(exact=True)

    def fingerprint(self, targets: frozenset[Target]) -> Fingerprint:
        """This machine's."""
        if targets not in self._fingerprints:
            place = paths.results() / ".canary" / self.connection.submitter
            try:
                self._fingerprints[targets] = fingerprint(sorted(targets), place)
            finally:
                shutil.rmtree(place, ignore_errors=True)
                with suppress(OSError):
                    place.parent.rmdir()
        return self._fingerprints[targets]

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
            jobs = self.tasks.pop(future).jobs
            self.queue.requeue(jobs)
            for job in jobs if position < host.cores else ():
                self.lost += 1
                self.queue.failed(job, host.name, "its worker was lost")
            future.cancel(force=True)
        self.progress.say(f"  {host.name} is lost; other workers get its runs")

    def _submit_next(self) -> None:
        """Test new hosts, and fill the windows of fit ones."""
        cores = {host.name: host.cores for host in self.hosts.values() if host.state == "fit"}
        for host in self.hosts.values():
            if host.state == "new":
                host.state = "testing"
                self._submit(Task(host, (), self._judge_canary), worker.canary, sorted(self.targets))
            if host.state == "fit":
                room = self.queue.window(host.cores) - sum(task.host is host for task in self.tasks.values())
                while room > 0 and (chunk := self.queue.chunk(host.name, cores)):
                    packed = [dumps(job, self.roots) for job in chunk]
                    self._submit(Task(host, chunk), worker.runs, packed)
                    room -= 1

    def _submit(self, task: Task, do: Callable[..., Any], *given: Any) -> None:
        alone = do is not worker.canary and not self.queue.exact
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
        assert self.completed is not None
        self.completed.add(future)

    def _take(self, future: Future) -> Iterator[Done]:
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
        if not task.jobs:
            task.judge(task.host, answers)
            return
        for job, (answer, seconds) in zip(task.jobs, answers, strict=True):
            yield from self._arrived(task.host, job, answer, seconds)

    def _judge_canary(self, host: Host, answer: Answer) -> None:
        """Compare its environment and small runs with those of this machine."""
        try:
            if isinstance(answer, Failed):
                why = [str(answer.error)]
            else:
                why = self.fingerprint(frozenset(self.targets)).mismatches(pickle.loads(answer.checked()))
        except Damaged as error:
            why = [f"its small run arrived damaged: {error}"]
        if not self.queue.exact and not host.real_packets:
            why.append("it makes no runs on real packets")
        if why or self.queue.exact:
            self._judged(host, why)
            return
        middle = min(target.middle for target in self.targets)  # a command has one
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
                add_measurement(self.study, host.name, links)
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

    def _arrived(self, host: Host, job: Job, answer: Answer, seconds: float) -> Iterator[Done]:
        if isinstance(answer, Failed):
            if not answer.of_the_host:
                raise answer.error from InJob(answer.trace)
            if host.state == "fit":
                self._judged(host, [str(answer.error)], " from here on")
            self._failed(host, job, str(answer.error))
            return
        try:
            record, files = loads(answer.checked(), self.roots)
        except Damaged as error:
            self.damaged += 1
            self.progress.say(f"  {job} from {host.name} is repeated: it arrived damaged, {error}")
            self._failed(host, job, f"it arrived damaged: {error}")
            return
        unpack(files, self.roots["results"])
        self.queue.took(seconds)
        self.runs_by_host[host.name] += 1
        yield Done(job, record, seconds)

    def _failed(self, host: Host, job: Job, why: str) -> None:
        self.queue.failed(job, host.name, why)
        self.queue.requeue([job])


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
            executor.connection.forget()
            executor.connection.drop()
