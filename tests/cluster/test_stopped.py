"""A worker that is stopped, also while its scheduler closes, as when all services of a host are."""

import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed")
from tests.cluster.loopback import loopback, until


@pytest.mark.parametrize("delay_s", [0.01, 0.03])
def test_a_worker_ends_while_its_scheduler_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delay_s: float
) -> None:
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    names = [f"w{number}" for number in range(2)]
    with loopback(tmp_path / "parts", names) as cluster:
        until(lambda: all(map(cluster.registered, names)))
        assert cluster.scheduler is not None
        cluster.scheduler.send_signal(signal.SIGTERM)
        time.sleep(delay_s)
        for name in names:
            cluster.stop(name)
        assert not list((tmp_path / "state" / "cluster" / "scratch" / "dask-scratch-space").glob("worker-*/"))
