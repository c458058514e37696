"""Distributed executor: jobs of a study on the workers of a Dask cluster.

The submitter alone knows what is finished: what a scheduler or worker loses is requested again.
"""

import asyncio
import json
import logging
import math
import tempfile
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from distributed import CancelledError, Client, Future, KilledWorker, Security

from testbed import engines, paths
from testbed.engines.engine import Engine
from testbed.errors import CannotRun, RunFailed
from testbed.lab.host_links import HostLinks
from testbed.plan.model import Middle
from testbed.runtime.interrupts import uninterruptible
from testbed.study.cell import Job, Target
from testbed.study.executors import Executor
from testbed.study.hosts import cluster, fitness, transfer, worker
from testbed.study.hosts.worker import Answer, Failed
from testbed.study.pool import InJob
from testbed.study.record import RunRecord

ALLOWED_FAILURES = 3
"""Failures of one run (a lost worker, a damaged result) that end the study."""
CHUNK_S = 1.0
"""Shorter runs go several at once, so that scheduling costs little beside them."""
AHEAD = 2
"""Chunks per core that a worker is given in advance."""
RECENT = 0.3
"""Weight of the last run in the estimate of a run's time."""
AWAY_S = 600.0
"""Timeout of a scheduler, and of the first worker."""
LOOK_S = 0.5
"""Interval of reading the scheduler's list of workers."""
POLL_S = 0.02
FETCH_S = 120.0
"""Timeout of a result."""
_AWAY = (OSError, TimeoutError, RuntimeError)
"""Errors of Dask without a scheduler."""
_CANCELLED = (asyncio.CancelledError, CancelledError)

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True)
class Site:
    """Scheduler and size of a cluster."""

    scheduler: str
    security: Security
    cores: int
    real_packets: int
    """Number of hosts for runs on real packets."""
    is_pending: Callable[[], bool] = lambda: False
    """Whether a worker may still come, where none has for ``patience_s``."""
    patience_s: float = AWAY_S
    hint: str = "./run.sh cluster status"


def own_site() -> Site:
    """The site of ``cluster up``; raises CannotRun where there is none."""
    found = cluster.read()
    cores, real = sum(host.cores for host in found.hosts), sum(host.can.processes for host in found.hosts)
    return Site(found.scheduler, found.security(), cores, real)


class TaskQueue(Generic[Item]):
    """Jobs that wait for a worker, failed ones first. Jobs that need a host ``alone`` go one by one."""

    def __init__(self, jobs: Iterable[Item] = (), alone: Callable[[Item], bool] = lambda _: False) -> None:
        self.jobs, self.alone = deque(jobs), alone
        self.failed_on: dict[Item, list[str]] = {}
        """Hosts on which a job failed."""
        self.run_s = math.inf
        """Estimated time of a run on its worker, before the first infinite."""

    def requeue(self, jobs: Sequence[Item]) -> None:
        """Put jobs before all others."""
        self.jobs.extendleft(reversed(jobs))

    def failed(self, job: Item, host: str, why: str) -> None:
        """Count a failure of a job; raises RunFailed at the last that is allowed."""
        on = self.failed_on.setdefault(job, [])
        on.append(host)
        if len(on) >= ALLOWED_FAILURES:
            hosts = ", ".join(on)
            raise RunFailed(
                "cluster.gave-up", f"{job}: tried {len(on)} times, on {hosts}; {why}", "Finished runs are stored."
            )

    def took(self, seconds: float) -> None:
        """Update the estimated time of a run."""
        self.run_s = seconds if math.isinf(self.run_s) else (1 - RECENT) * self.run_s + RECENT * seconds

    def chunk(self, host: str, cores: Mapping[str, int], ahead: int = 0) -> list[Item]:
        """Take the next jobs for a host that has ``ahead`` chunks already, about :data:`CHUNK_S` of work. A job that
        failed before goes alone, and to another host if there is one. ``cores`` has the cores of all fit hosts."""

        def is_better_elsewhere(job: Item) -> bool:
            on = self.failed_on.get(job, ())
            return host in on and not set(cores) <= set(on)

        first = next((job for job in self.jobs if not is_better_elsewhere(job)), None)
        if first is None or ahead >= self._window(first, cores[host]):
            return []
        chunk = [first]
        self.jobs.remove(first)
        size = min(int(CHUNK_S / self.run_s), (len(self.jobs) + 1) // (2 * sum(cores.values())))
        while self._may_share(first) and len(chunk) < size and self._may_share(self.jobs[0]):
            chunk.append(self.jobs.popleft())
        return chunk

    def _window(self, job: Item, cores: int) -> int:
        """Returns the number of chunks that a worker may have."""
        if self.alone(job):
            return 1
        return cores * (AHEAD if self.run_s < 10 * CHUNK_S else 1)

    def _may_share(self, job: Item) -> bool:
        return job not in self.failed_on and not self.alone(job)


@dataclass(eq=False)
class Host:
    """A connected worker. After a restart it has another address, and is tested again."""

    name: str
    address: str
    cores: int
    real_packets: bool
    unfit: list[str] | None = None
    """The reasons why it is left out, none of a fit one; None while it is tested."""


@dataclass
class Task:
    """A task of a worker: jobs, or without jobs a test of the worker."""

    host: Host
    jobs: Sequence[Job]
    begun_s: float = field(default_factory=time.monotonic)


class DaskExecutor(Executor):
    """Executor on the workers of a cluster. ``find`` returns its current site, or raises CannotRun."""

    client: Client | None = None

    def __init__(self, find: Callable[[], Site]) -> None:
        super().__init__()
        self.find, self.site = find, find()
        self._begin()

    def _begin(self) -> None:
        self.submitter = uuid.uuid4().hex[:12]
        self.queue, self.targets, self.study = TaskQueue[Job](alone=_needs_host), set[Target](), Path()
        self.tasks: dict[Future, Task] = {}
        self.hosts: dict[str, Host] = {}
        """Hosts by address."""
        self.lost_tests: Counter[str] = Counter()
        self.waiting_for, self.waiting_since_s, self.looked_s = "", 0.0, float("-inf")
        self.begun_s = time.monotonic()
        self.runs_by_host: Counter[str] = Counter()
        self.repeated: Counter[str] = Counter()
        """Numbers of repeated runs by reason."""

    def slots(self, engine: Engine) -> int:
        """A run per core in virtual time, else one per host for runs on real packets."""
        return self.site.cores if engine.deterministic() else max(1, self.site.real_packets)

    def submit(self, job: Job, *, first: bool = False) -> None:
        """Queue a job."""
        self.study = job.study
        if job.cell.target not in self.targets:
            self.targets.add(job.cell.target)
            self.hosts.clear()  # to be tested again, with the new target
        self.queue.jobs.insert(0 if first else len(self.queue.jobs), job)

    def running(self) -> dict[str, float]:
        """Jobs on workers."""
        now_s = time.monotonic()
        return {str(job): now_s - task.begun_s for task in self.tasks.values() for job in task.jobs}

    def where(self) -> str:
        """Fit hosts, and their rate."""
        fit = sorted(host.name for host in self._fit())
        rate = self.runs_by_host.total() / (time.monotonic() - self.begun_s)
        hosts = ", ".join(fit) if len(fit) <= 4 else f"{', '.join(fit[:3])}, …"
        return f"{len(fit)} hosts ({hosts}), {rate:.1f} runs/s"

    def wait(self, timeout_s: float) -> Iterator[tuple[Job, RunRecord, float]]:
        """Yield completed jobs."""
        try:
            self._connect()
            self._submit_next()
        except _AWAY:
            self.disconnect()
            self._be_patient("scheduler", f"the scheduler {self.site.scheduler} does not answer")
        until_s = time.monotonic() + timeout_s
        # Not as_completed: a future whose completion it fails to see is never returned, and the study would hang.
        while not (ready := [future for future in self.tasks if future.done()]) and time.monotonic() < until_s:
            time.sleep(POLL_S)
        for future in ready:
            if task := self.tasks.get(future):  # else its jobs went to another host
                yield from self._arrived(future, task)

    def close(self) -> None:
        """End runs in progress on workers."""
        if (self.queue.jobs or self.running()) and self.client is not None:
            with uninterruptible(), suppress(*_AWAY):
                self.client.run(worker.forget, self.submitter, on_error="ignore")
        elif self.runs_by_host:
            hosts = ", ".join(f"{name} {count}" for name, count in sorted(self.runs_by_host.items()))
            repeated = "".join(f"; {count} {why} and were repeated" for why, count in self.repeated.items())
            self.progress.say(f"  by host: {hosts}{repeated}")
        self._begin()

    def disconnect(self) -> None:
        """Close the connection, by which the scheduler forgets all futures, and queue their jobs again."""
        for task in self.tasks.values():
            self.queue.requeue(task.jobs)
        self.tasks.clear()
        self.hosts.clear()
        client, self.client = self.client, None
        if client is not None:
            with suppress(*_AWAY):
                client.close(timeout=1)

    def _connect(self) -> None:
        """Connect again if necessary, and update the hosts.

        Raises:
            OSError, TimeoutError, RuntimeError: the scheduler does not answer.
            CannotRun: all hosts are unfit, or none has come within the timeout.
        """
        if self.client and (self.client.status != "running" or any(future.cancelled() for future in self.tasks)):
            self.disconnect()
        if self.client is None:
            with suppress(CannotRun):
                self.site = self.find()  # the scheduler may be another one now
            self.client = Client(self.site.scheduler, security=self.site.security, timeout=5, set_as_default=False)
        elif time.monotonic() - self.looked_s < LOOK_S:
            return
        self.looked_s = time.monotonic()
        workers = self._workers(self.client)
        for host in [host for address, host in self.hosts.items() if address not in workers]:
            self._lose(host)
        for address in [address for address in workers if address not in self.hosts]:
            self._test(address, **workers[address])
        if any(not host.unfit for host in self.hosts.values()):
            self.waiting_for = ""
        elif self.hosts:
            reasons = "\n".join(sorted(f"{host.name}: {'; '.join(host.unfit or ())}" for host in self.hosts.values()))
            raise CannotRun(
                "cluster.no-fit-host",
                f"no host of the cluster is fit for this study\n{reasons}",
                "./run.sh cluster up INVENTORY",
            )
        else:
            self._be_patient("worker", "no worker is connected")

    @staticmethod
    def _workers(client: Client) -> Any:
        """Returns facts of the scheduler's workers, by address."""
        return client.sync(client.scheduler.identity, n_workers=-1)["workers"]

    def _be_patient(self, awaited: str, why: str) -> None:
        """Report what is awaited; raises CannotRun after the timeout."""
        now_s = time.monotonic()
        if awaited != self.waiting_for:
            self.progress.say(f"  {why}; waiting")
        elif now_s - self.waiting_since_s <= self.site.patience_s:
            return
        elif not self.site.is_pending():
            site = self.site
            raise CannotRun("cluster.no-worker", f"{why}, for {site.patience_s:.0f} s", f"{site.hint}")
        self.waiting_for, self.waiting_since_s = awaited, now_s

    def _lose(self, host: Host) -> None:
        """Queue a host's jobs again; jobs that it had not begun don't count as failed."""
        self.hosts.pop(host.address, None)
        self.progress.say(f"  {host.name} is lost; other workers get its runs")
        self.lost_tests[host.name] += host.unfit is None
        mine = [future for future, task in self.tasks.items() if task.host is host]
        for position, future in enumerate(mine):
            jobs = self.tasks.pop(future).jobs
            future.cancel(force=True)
            self.queue.requeue(jobs)
            for job in jobs if position < host.cores else ():
                self.repeated["were lost with their worker"] += 1
                self.queue.failed(job, host.name, "its worker was lost")

    def _test(self, address: str, name: str, resources: Mapping[str, float], **_: Any) -> None:
        """Test a host that has come, unless its tests were lost again and again."""
        host = Host(str(name), address, int(resources.get(cluster.CORE, 1)), cluster.REAL_PACKETS in resources)
        self.hosts[address] = host
        if self.lost_tests[host.name] >= ALLOWED_FAILURES:
            self._judged(host, [f"its small run was lost {ALLOWED_FAILURES} times"])
            return
        middle = min(self._middles(), default=None) if host.real_packets else None  # one for all cells
        self._submit(Task(host, ()), worker.examine, sorted(self.targets), middle, alone=middle is not None)

    def _fit(self) -> list[Host]:
        return [host for host in self.hosts.values() if host.unfit == []]

    def _submit_next(self) -> None:
        """Give jobs to fit hosts."""
        cores = {host.name: host.cores for host in self._fit()}
        ahead = Counter(task.host for task in self.tasks.values())
        for host in self._fit():
            while chunk := self.queue.chunk(host.name, cores, ahead[host]):
                jobs = [transfer.dumps(job) for job in chunk]
                self._submit(Task(host, chunk), worker.runs, jobs, alone=_needs_host(chunk[0]))
                ahead[host] += 1

    def _middles(self) -> list[Middle]:
        """Link emulators of the study's runs on real packets."""
        return [target.middle for target in self.targets if not engines.named(target.engine).deterministic()]

    def _submit(self, task: Task, do: Callable[..., Any], *given: Any, alone: bool) -> None:
        assert self.client is not None
        future = self.client.submit(
            do,
            *given,
            self.submitter,
            workers=[task.host.address],
            resources={cluster.REAL_PACKETS: 1, cluster.CORE: task.host.cores} if alone else {cluster.CORE: 1},
            pure=False,
        )
        self.tasks[future] = task

    def _arrived(self, future: Future, task: Task) -> Iterator[tuple[Job, RunRecord, float]]:
        """Jobs that are done of a task that has ended; none of a lost one, whose jobs are queued again. An answer that
        can't be read, though the scheduler is there, is a failure of its host."""
        try:
            answers = future.result(timeout=FETCH_S)
        except (KilledWorker, TimeoutError):
            self._lose(task.host)
            return
        except _CANCELLED:
            return  # with the connection
        except Exception as error:
            try:
                self._workers(future.client)
            except _AWAY:
                return
            answers = [(Failed(error, "", of_the_host=True), 0.0)] * max(1, len(task.jobs))
        del self.tasks[future]
        if not task.jobs:
            self._judged(task.host, self._reasons_against(task.host, answers[0][0]))
        for job, (answer, seconds) in zip(task.jobs, answers, strict=False):
            if (record := self._record(task.host, job, answer)) is not None:
                self.queue.took(seconds)
                self.runs_by_host[task.host.name] += 1
                yield job, record, seconds

    def _reasons_against(self, host: Host, answer: Answer) -> list[str]:
        """Compare a host's environment and small runs with this machine's, and its links with the limits."""
        self.lost_tests[host.name] = 0
        if isinstance(answer, Failed):
            return [str(answer.error)]
        try:
            found = json.loads(answer.checked())
        except transfer.Damaged as error:
            return [f"its small run arrived damaged: {error}"]
        why = fitness.mismatches(_own_fingerprint(frozenset(self.targets)), found["fingerprint"])
        if self._middles() and not host.real_packets:
            why.append("it makes no runs on real packets")
        if why or not found["links"]:
            return why
        links = HostLinks.model_validate_json(found["links"])
        self.progress.say(f"  {host.name}: links measured: {links.text()}")
        fitness.add_measurement(self.study, host.name, links)
        return links.off()

    def _judged(self, host: Host, unfit: list[str], since: str = "") -> None:
        host.unfit = unfit
        if unfit:
            self.progress.say(f"  {host.name} is left out{since}: {'; '.join(unfit)}")

    def _record(self, host: Host, job: Job, answer: Answer) -> RunRecord | None:
        """Place the files of a job and return its record; returns None if it is queued again."""
        if isinstance(answer, Failed):
            if not answer.of_the_host:
                raise answer.error from InJob(answer.trace)
            why = str(answer.error)
            if host.unfit == []:
                self._judged(host, [why], " from here on")
        else:
            try:
                record, files = transfer.loads(answer.checked())
                transfer.unpack(files, paths.results())
                return record  # type: ignore[no-any-return]
            except transfer.Damaged as error:
                why = f"it arrived damaged, {error}"
                self.repeated["arrived damaged"] += 1
                self.progress.say(f"  {job} from {host.name} is repeated: {why}")
        self.queue.requeue([job])
        self.queue.failed(job, host.name, why)
        return None


@cache
def _own_fingerprint(targets: frozenset[Target]) -> Mapping[str, Any]:
    """This machine's fingerprint for a study's targets."""
    paths.results().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.results(), prefix=".canary-") as folder:
        return fitness.fingerprint(sorted(targets), Path(folder))


def _needs_host(job: Job) -> bool:
    """Whether a job has its host to itself, as runs on real packets do."""
    return not job.cell.engine.deterministic()


@contextmanager
def dask_executor(find: Callable[[], Site] = own_site) -> Iterator[DaskExecutor]:
    """An executor on this machine's cluster or another site; raises CannotRun where there is none, BadInput for errors
    in its file."""
    cluster.configure_dask()
    for name in ("distributed", "distributed.client"):  # the second has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)  # the study reports what matters
    executor = DaskExecutor(find)
    try:
        yield executor
    finally:
        with uninterruptible():
            executor.close()
            executor.disconnect()
