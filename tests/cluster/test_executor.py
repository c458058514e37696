"""What the executor does with its jobs. Results that can't be fetched, though their worker and the scheduler are there,
neither hang nor lose a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed")
from distributed import Security

from testbed import engines
from testbed.errors import CannotRun, RunFailed
from testbed.study.cell import Job
from testbed.study.hosts import dask
from testbed.study.hosts.cluster import CORE
from testbed.study.hosts.transfer import Packed
from tests.cluster.ceiling import Stub
from tests.cluster.conftest import Place
from tests.cluster.loopback import UNSOUND, Loopback
from tests.raises import raises


class FakeFuture:
    """Of a task that has ended."""

    def __init__(self, client: FakeClient, result: Callable[[], Any]) -> None:
        self.client, self._result = client, result

    def done(self) -> bool:
        return True

    def cancelled(self) -> bool:
        return False

    def cancel(self, *, force: bool) -> None:
        assert force

    def result(self, timeout: float) -> Any:
        return self._result()


class FakeClient:
    """A scheduler with a worker, which comes anew, under another address, where it was lost."""

    status = "running"
    scheduler = type("Scheduler", (), {"identity": None})

    def __init__(self, answers: dict[str, Callable[[], Any]]) -> None:
        self.answers, self.number = answers, 0
        self.away = False

    def sync(self, *_: object, **__: object) -> dict[str, Any]:
        if self.away:
            raise OSError("Timed out")
        return {"workers": {f"tls://{self.number}": {"name": "one", "resources": {CORE: 1}}}}

    def submit(self, do: Any, *_: object, **__: object) -> FakeFuture:
        return FakeFuture(self, self.answers[do.__name__])

    def lose(self) -> Any:
        """Answers so."""
        self.number += 1
        raise TimeoutError

    def close(self, timeout: float) -> None:
        pass


def broken() -> Any:
    raise ZeroDivisionError("while it was read")


def fit() -> list[tuple[Packed, float]]:
    return [(Packed.of(b'{"fingerprint": {}, "links": ""}'), 0.0)]


@pytest.fixture
def executor_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[dask.DaskExecutor, FakeClient]]:
    """Makes an executor with a job; ``answers`` are those of its worker."""
    monkeypatch.setattr(dask, "LOOK_S", 0.0)
    monkeypatch.setattr(dask, "_own_fingerprint", lambda _: {})

    def with_answers(**answers: Callable[[], Any]) -> tuple[dask.DaskExecutor, FakeClient]:
        executor = dask.DaskExecutor(lambda: dask.Site("tls://nowhere:1", Security(), 1, 0, patience_s=0.0))
        client = FakeClient(answers)
        executor.client = client
        executor.submit(Job(Stub(1), Path()))
        return executor, client

    return with_answers


def wait_often(executor: dask.DaskExecutor) -> None:
    for _ in range(20):
        assert not list(executor.wait(0.0))


def test_runs_of_both_kinds_of_time_are_made_in_one_study(executor_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    executor, _ = executor_of(examine=fit)
    monkeypatch.setattr(Stub, "engine", property(lambda stub: engines.named("mininet" if stub.number == 2 else "sim")))
    executor.submit(Job(Stub(2), Path()))
    assert len(executor.queue.jobs) == 2
    with raises(CannotRun, "cluster.no-fit-host", told="one: it makes no runs on real packets"):
        wait_often(executor)


def test_a_run_whose_result_breaks_is_the_hosts_failure(executor_of: Any) -> None:
    executor, _ = executor_of(examine=fit, runs=broken)
    with raises(CannotRun, "cluster.no-fit-host") as raised:
        wait_often(executor)
    assert "one: while it was read" in str(raised.value)
    assert len(executor.queue.jobs) == 1  # nothing is lost


def test_a_run_whose_result_is_lost_again_and_again_ends_the_study(executor_of: Any) -> None:
    executor, client = executor_of(examine=fit)
    client.answers["runs"] = client.lose
    with raises(RunFailed, "cluster.gave-up", name="1", times=3, hosts="one, one, one"):
        wait_often(executor)


def test_a_host_whose_small_run_breaks_is_left_out(executor_of: Any) -> None:
    executor, _ = executor_of(examine=broken)
    with raises(CannotRun, "cluster.no-fit-host", told="one: while it was read"):
        wait_often(executor)


def test_a_host_whose_small_run_is_lost_again_and_again_is_left_out(executor_of: Any) -> None:
    executor, client = executor_of()
    client.answers["examine"] = client.lose
    with raises(CannotRun, "cluster.no-fit-host", told="one: its small run was lost 3 times"):
        wait_often(executor)


def test_where_the_scheduler_is_away_nobody_is_at_fault(executor_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    executor, client = executor_of(examine=fit)

    def cut_off() -> Any:
        client.away = True
        raise OSError("connection lost")

    client.answers["runs"] = cut_off
    monkeypatch.setattr(dask, "Client", lambda *_, **__: client)
    with raises(CannotRun, "cluster.no-worker"):
        wait_often(executor)
    assert not executor.queue.failed_on
    assert len(executor.queue.jobs) == 1


def test_what_one_worker_sends_unreadable_others_make(place: Place, cluster_of: Callable[..., Loopback]) -> None:
    cluster_of("one").start_worker("two", program=[str(UNSOUND / "unreadable.py")])
    sweep = str(place.sweep(seconds=1, seeds=1))
    said = place.run("there", "sweep", sweep, "--cluster", within_s=200)
    place.run("here", "sweep", sweep)
    assert "two is left out from here on: division by zero" in said
    assert "by host: one 6" in said
    assert place.told("there") == place.told("here")
