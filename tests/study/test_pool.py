"""Jobs side by side: what comes of them, of one that fails, and of a stop."""

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from testbed.errors import BadInput, RunFailed
from testbed.runtime.interrupts import Interrupted
from testbed.study import pool
from testbed.study.pool import side_by_side
from tests.raises import raises


def double(number: int) -> tuple[int, int]:
    return 2 * number, os.getpid()


def fail_at_two(number: int, folder: Path) -> None:
    """The second one fails once the first has begun, which then waits to be stopped."""
    if number == 2:
        while not (folder / "began-1").exists():
            time.sleep(0.01)
        raise BadInput("test.wrong", "two is wrong", "Give another number.")
    stand_by(number, folder)


def stand_by(number: int, folder: Path) -> None:
    """Until it is stopped, of which it leaves a note."""
    try:
        (folder / f"began-{number}").touch()
        time.sleep(600)
    except Interrupted as error:
        (folder / f"stopped-{number}").write_text(error.message)
        raise


def die(_number: int) -> None:
    os._exit(3)


@pytest.mark.parametrize("width", [1, 3])
def test_every_job_is_done_and_told(width: int) -> None:
    found = dict(side_by_side(range(7), double, width=width))
    assert {job: what for job, (what, _) in found.items()} == {n: 2 * n for n in range(7)}
    processes = {pid for _, pid in found.values()}
    assert processes == {os.getpid()} if width == 1 else os.getpid() not in processes


def test_what_is_to_be_loaded_once_and_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "PRELOADED", [*pool.PRELOADED, "testbed.study.moved"])
    with pytest.raises(ModuleNotFoundError, match=r"testbed\.study\.moved"):
        list(side_by_side([1, 2], double, width=2))


def test_what_is_wrong_with_one_is_raised_and_ends_the_others(tmp_path: Path) -> None:
    with raises(BadInput, "test.wrong", text="two is wrong") as raised:
        list(side_by_side([1, 2, 3], partial(fail_at_two, folder=tmp_path), width=2))
    assert raised.value.hint == "Give another number."
    assert "fail_at_two" in str(raised.value.__cause__)
    assert {path.name for path in tmp_path.iterdir()} == {"began-1", "stopped-1"}


def test_one_that_dies_is_named() -> None:
    with raises(RunFailed, "run.process-ended", exitcode=3):
        list(side_by_side([1, 2], die, width=2))


def test_a_stop_is_passed_on_and_waited_for(tmp_path: Path) -> None:
    def stop() -> None:
        while len(list(tmp_path.glob("began-*"))) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=stop).start()
    with pytest.raises(Interrupted):
        list(side_by_side([1, 2], partial(stand_by, folder=tmp_path), width=2))
    assert [path.read_text() for path in tmp_path.glob("stopped-*")] == 2 * ["stopped by SIGINT"]
