"""Who waits for a lock is told who has it."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testbed.errors import CannotRun
from testbed.runtime import lock

HOLDER = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, 2); print('held', flush=True); sys.stdin.read()"


@contextmanager
def held_by_another(file: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout
        assert holder.stdin
        assert holder.stdout.readline() == "held\n"
        yield holder
        holder.stdin.close()


def test_a_long_wait_says_who_has_the_lock_and_says_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "SAY_AFTER_S", 0.3)
    monkeypatch.setattr(lock, "SAY_AGAIN_S", 0.3)
    said: list[str] = []
    with held_by_another(file := tmp_path / "kernel.lock") as holder:

        def hear(text: str) -> None:
            said.append(text)
            if len(said) == 2 and holder.stdin:
                holder.stdin.close()

        with lock.held(file, "the guest kernel", hear):
            pass
    assert len(said) == 2
    for text in said:
        assert "waiting for the guest kernel" in text
        assert f"(pid {holder.pid}, since {time.strftime('%H:')}" in text or time.strftime("%M") == "00"
        assert str(file) in text
        assert "fcntl.flock" in text, "the command"


def test_a_lock_that_is_free_is_taken_in_silence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with lock.held(tmp_path / "lock", "it"), (tmp_path / "lock").open("a+") as again, pytest.raises(CannotRun):
        lock.take(again)
    assert capsys.readouterr() == ("", "")


def test_a_refused_run_names_the_process_that_is_on(tmp_path: Path) -> None:
    with (
        held_by_another(tmp_path / "lock") as holder,
        (tmp_path / "lock").open("a+") as mine,
        pytest.raises(CannotRun, match=rf"another run: .*\(pid {holder.pid}, since [\d:]+\) is running"),
    ):
        lock.take(mine)
