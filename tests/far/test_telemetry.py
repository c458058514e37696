"""Telemetry of other machines: fetched line by line, on this machine's clock, and kept where its machine is gone."""

from pathlib import Path
from typing import Any

import pytest

from testbed.errors import RunFailed
from testbed.remote import telemetry
from testbed.remote.telemetry import FetchedTelemetry, shifted
from tests.raises import raises


class There:
    """A machine with one file, whose clock is 5 ns behind."""

    name, ahead_ns = "m1", -5

    def __init__(self) -> None:
        self.content = b""
        self.gone = False

    def read(self, _file: str, start: int) -> bytes:
        if self.gone:
            raise OSError("no route to host")
        return self.content[start : start + 7]

    def failure(self) -> str | None:
        return "the connection to m1 is gone" if self.gone else None


def followed(there: Any, here: Path) -> FetchedTelemetry:
    return FetchedTelemetry(there, {"a/data/telemetry.lp": here})


def test_lines_come_whole_and_on_our_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there, here = There(), tmp_path / "telemetry.lp"
    following = followed(there, here)
    there.content = b"a 1 10\nb 2 20\nc 3"
    following._look()
    assert here.read_bytes() == b"a 1 15\nb 2 25\n"
    there.content += b" 30\n"
    following.stop()
    assert here.read_bytes() == b"a 1 15\nb 2 25\nc 3 35\n"


def test_what_was_fetched_is_kept_where_the_machine_is_gone(tmp_path: Path) -> None:
    there, here = There(), tmp_path / "telemetry.lp"
    following = followed(there, here)
    there.content = b"a 1 10\n"
    following._look()
    there.gone = True
    with raises(RunFailed, "host.silent", machine="m1", error="no route to host"):
        following.stop()
    assert here.read_bytes() == b"a 1 15\n"
    assert "m1 has not answered" in str(following.failure())


def test_a_text_with_spaces_keeps_them() -> None:
    line = b'event,run=r text="a b 7 c" 100\n'
    assert shifted(line, -1) == b'event,run=r text="a b 7 c" 99\n'
    assert shifted(line, 0) is line


def test_a_line_that_has_no_time_stays() -> None:
    assert telemetry.shifted(b"broken\n", 5) == b"broken\n"
