"""A program on another machine: what it prints comes on this machine's clock, and it ends whatever becomes of that."""

import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from testbed.errors import CannotRun, RunFailed
from testbed.remote import programs
from testbed.remote.programs import RemoteProgram, files_of
from tests.raises import Containing, raises


class There:
    """A machine whose clock is 5 ns ahead; a look at the program after those of ``printed`` finds that it has ended."""

    name, ahead_ns = "m1", 5

    def __init__(self, *printed: bytes) -> None:
        self.printed, self.content = list(printed), b""
        self.asked: list[tuple[str, str, Any]] = []
        self.gone = False

    def ask(self, method: str, path: str, body: Any = None, **_: Any) -> Any:
        if self.gone:
            raise OSError("no route to host")
        self.asked.append((method, path, body))
        if method == "GET":
            ended = not self.printed
            self.content += b"" if ended else self.printed.pop(0)
            return {"ended": ended}
        return {}

    def read(self, file: str, start: int) -> bytes:
        if self.gone:
            raise OSError("no route to host")
        assert file == "programs/p.out"
        return self.content[start : start + 7]

    def read_all(self, file: str) -> bytes:
        assert file == "programs/p.err"
        return b"oh\n"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "LOOK_S", 0.0)


def begun(there: Any, folder: Path, at_unix_ns: int = 0) -> RemoteProgram:
    return RemoteProgram(there, "h1", "p", ["cat", "x"], at_unix_ns, folder / "p.log")


def test_it_is_asked_for_at_the_time_of_its_own_clock(tmp_path: Path) -> None:
    there = There()
    begun(there, tmp_path, 100)
    ((method, path, command),) = there.asked
    assert (method, urlsplit(path).path) == ("POST", "/program")
    assert parse_qs(urlsplit(path).query) == {"name": ["p"], "host": ["h1"], "at_unix_ns": ["105"]}
    assert command[0].endswith("/cat"), "by its path, by which its files went there"
    assert command[1:] == ["x"]


def test_lines_come_whole_and_on_our_clock_to_the_last(tmp_path: Path) -> None:
    there = There(b"15 a b\n2", b"5 c\n", b"", b"35 d\n")
    assert list(begun(there, tmp_path).lines()) == [(10, "a b\n"), (20, "c\n"), (30, "d\n")]
    assert (tmp_path / "p.log").read_text() == "oh\n"


def test_a_line_that_a_full_disk_cut_off_is_none(tmp_path: Path) -> None:
    there = There(b"15 a\n2", b"\nb c\n35 d\n")
    assert list(begun(there, tmp_path).lines()) == [(10, "a\n"), (30, "d\n")]


def test_what_it_printed_is_kept(tmp_path: Path) -> None:
    begun(There(b'15 {"a":\n25 1}\n'), tmp_path).keep(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text()) == {"a": 1}


def test_it_is_over_where_its_machine_is_gone(tmp_path: Path) -> None:
    there = There(b"15 a\n")
    program = begun(there, tmp_path)
    there.gone = True
    assert not program.has_ended(), "nobody knows"
    program.end()
    assert list(program.lines()) == []
    with raises(RunFailed, "program.does-not-answer", program="p", machine="m1", error=Containing("no route")):
        begun(there, tmp_path)


def test_a_program_goes_with_all_that_it_is_linked_with(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for path, content in files_of("iperf3").items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755)
    iperf3 = next(path for path in files_of("iperf3") if path.endswith("/iperf3"))
    said = subprocess.run(["chroot", root, f"/{iperf3}", "--version"], capture_output=True, text=True, check=False)
    assert said.stdout.startswith("iperf 3"), said.stderr


def test_one_that_is_not_here_can_not_go(tmp_path: Path) -> None:
    with raises(CannotRun, "program.not-installed", name="nosuch"):
        files_of("nosuch")
