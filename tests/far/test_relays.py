"""Relays on several machines act as one middle: each is asked about its own links, on its own clock; one result."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import RunFailed
from testbed.remote.relays import FOLDER, RESULT, RemoteRelay, SpreadRelay, as_one
from tests.raises import raises

AHEAD_NS = 1000
LINKS: Any = [{"name": name, "index": index} for index, name in enumerate(("one", "two", "three"), start=1)]
WHERE = {"one": "m1", "three": "m2"}


def result(*links: str, drops: int = 0) -> dict[str, Any]:
    return {
        "schema": 1,
        "run": "r",
        "seconds": 9.0 + drops,
        "cpu_s": 0.5,
        "granted": {"real_time": True},
        "ring_drops": drops,
        "links": [{"link": name, "direction": way} for name in links for way in ("ab", "ba")],
        "changes": [],
    }


class Container:
    """That of a relay."""

    def __init__(self) -> None:
        self.attrs = {"State": {"Pid": 7, "Running": True}}
        self.signals: list[str] = []
        self.ends = True

    def start(self) -> None:
        pass

    reload = start

    def kill(self, signal: str) -> None:
        self.signals.append(signal)
        self.attrs["State"]["Running"] = not self.ends

    def logs(self, **_: Any) -> bytes:
        return b"ncp-link: warmed up\nncp-link: link one: interface l1a: there is none\n"


class There:
    """A machine with a relay, whose clock is ahead; it keeps what it was asked and given."""

    def __init__(self, name: str, left: dict[str, Any] | None) -> None:
        self.name, self.run, self.folder, self.ahead_ns = name, "r", "/run/x/r", AHEAD_NS
        self.container, self.left = Container(), left
        self.asked: list[str] = []
        self.given: dict[str, bytes] = {}
        self.docker = self.containers = self

    def create(self, _image: str, arguments: list[str], **how: Any) -> Container:
        self.arguments, self.how = arguments, how
        return self.container

    def labels(self) -> dict[str, str]:
        return {}

    def put(self, files: dict[str, bytes], _folders: list[str]) -> None:
        self.given |= files

    def ask(self, method: str, path: str, body: object = None, *, socket: str = "") -> Any:
        assert socket == f"{FOLDER}/control.sock"
        self.asked.append(f"{method} {path} {json.dumps(body)}")
        return {"applied_unix_ns": 5000 + AHEAD_NS}

    def read_all(self, file: str) -> bytes:
        assert file == RESULT
        return json.dumps(self.left).encode() if self.left else b""

    def failure(self) -> str | None:
        return None


class Here:
    """The relay of this machine."""

    def __init__(self, folder: Path, left: dict[str, Any] | None) -> None:
        self.folder, self.left = folder, left
        self.changed: list[tuple[str, int]] = []

    def change(self, link: Any, _direction: str, _properties: Any, *, at_unix_ns: int) -> None:
        self.changed.append((link["name"], at_unix_ns))

    def ask_to_end(self) -> None:
        pass

    kill = ask_to_end

    def has_ended(self) -> bool:
        return True

    def failed(self) -> str | None:
        return None

    def stop(self) -> None:
        if self.left:
            (self.folder / "result.json").write_text(json.dumps(self.left))


def relay(folder: Path, name: str, left: dict[str, Any] | None, links: Any = LINKS[:1]) -> tuple[RemoteRelay, Any]:
    machine: Any = There(name, left)
    return RemoteRelay(machine, "image", {"run": "r"}, links, folder / f"relay-{name}.log"), machine


def spread(folder: Path, *, lacking: str = "") -> tuple[SpreadRelay, Any, Any]:
    """Link one on m1, three on m2, two here; a machine whose relay leaves no result."""
    found = {name: result(link, drops=number) for number, (link, name) in enumerate(WHERE.items())}
    m1, there = relay(folder, "m1", None if lacking == "m1" else found["m1"])
    m2, _ = relay(folder, "m2", None if lacking == "m2" else found["m2"])
    here: Any = Here(folder, None if lacking == "here" else result("two"))
    return SpreadRelay(LINKS, WHERE, {"": here, "m1": m1, "m2": m2}, folder, folder / "all.json"), there, here


def test_a_link_is_changed_by_its_own_relay_on_the_clock_of_that(tmp_path: Path) -> None:
    middle, there, here = spread(tmp_path)
    applied = middle.change(LINKS[0], "both", {"loss": 1.0}, at_unix_ns=4000)
    assert there.asked == ['POST /set?link=one&direction=both&at_unix_ns=5000 {"loss": 1.0}']
    assert (applied.from_unix_ns, applied.to_unix_ns) == (5000, 5000)
    middle.change(LINKS[1], "ab", {"loss": 1.0}, at_unix_ns=4000)
    assert here.changed == [("two", 4000)]
    middle.change(LINKS[0], "ab", {})
    assert "at_unix_ns" not in there.asked[-1], "at once"


def test_results_are_as_that_of_one_relay(tmp_path: Path) -> None:
    middle, there, _ = spread(tmp_path)
    there.left["changes"] = [{"link": "one", "at_unix_ns": 5000, "applied_unix_ns": 0}]
    middle.stop()
    whole = json.loads((tmp_path / "all.json").read_text())
    assert [(link["link"], link["direction"]) for link in whole["links"]] == [
        (name, way) for name in ("one", "two", "three") for way in ("ab", "ba")
    ]
    assert (whole["ring_drops"], whole["seconds"]) == (1, 10.0), "all that any of them dropped"
    assert {name: one["links"] for name, one in whole["machines"].items()} == {
        "m1": ["one"],
        "m2": ["three"],
        "here": ["two"],
    }
    assert whole["changes"] == [{"link": "one", "at_unix_ns": 4000, "applied_unix_ns": 0}], "on this machine's clock"


@pytest.mark.parametrize("lacking", ["m1", "m2", "here"])
def test_a_relay_that_left_nothing_leaves_no_result_of_all(lacking: str, tmp_path: Path) -> None:
    """What the others say would be taken for all links."""
    middle, _, _ = spread(tmp_path, lacking=lacking)
    middle.stop()
    assert not (tmp_path / "all.json").exists()


def test_a_relay_that_ended_says_why(tmp_path: Path) -> None:
    ended, machine = relay(tmp_path, "m1", None)
    assert ended.failed(at_once=True) is None
    machine.container.attrs["State"]["Running"] = False
    assert ended.failed() is None, "it is not asked about all the time"
    log = tmp_path / "relay-m1.log"
    failed = ended.failed(at_once=True)
    assert failed is not None
    assert failed.code == "relay.ended-elsewhere"
    assert "m1" in str(failed)
    assert str(failed).endswith(f": ncp-link: link one: interface l1a: there is none (log: {log})")
    assert log.read_bytes() == machine.container.logs()


def test_one_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.remote.relays.END_S", 0)
    middle, there, _ = spread(tmp_path)
    there.container.ends = False
    middle.stop()
    assert there.container.signals == ["SIGTERM", "SIGKILL"]
    middle.stop()
    assert there.container.signals == ["SIGTERM", "SIGKILL"], "once"


def test_a_machine_that_does_not_answer_is_an_error_of_the_run(tmp_path: Path) -> None:
    gone, machine = relay(tmp_path, "m1", None)

    def silent(*_: Any, **__: Any) -> None:
        raise OSError("no route to host")

    machine.ask = silent
    with raises(RunFailed, "relay.does-not-answer", machine="m1", error="no route to host"):
        gone.change(LINKS[0], "ab", {})


def test_files_that_links_name_go_with_the_plan(tmp_path: Path) -> None:
    trace = tmp_path / "up.trace"
    trace.write_text("1\n2\n")
    links: Any = [copy.deepcopy(LINKS[0]) | {"trace_file": str(trace)}]
    _, machine = relay(tmp_path, "m1", None, links)
    assert machine.given[f"{FOLDER}/trace_file-1"] == b"1\n2\n"
    (told,) = json.loads(machine.given[f"{FOLDER}/plan.json"])["links"]
    assert told["trace_file"] == "trace_file-1", "beside the plan"
    assert links[0]["trace_file"] == str(trace)


def test_a_relay_has_a_network_of_its_own_and_few_capabilities(tmp_path: Path) -> None:
    _, machine = relay(tmp_path, "m1", None)
    assert (machine.how["network_mode"], machine.how["cap_drop"]) == ("none", ["ALL"])
    assert sorted(machine.how["cap_add"]) == ["IPC_LOCK", "NET_ADMIN", "NET_RAW", "SYS_NICE"]
    assert "privileged" not in machine.how


def test_one_result_is_the_whole_of_one() -> None:
    alone = as_one({"m1": result("one")}, ["one"])
    assert alone["links"] == result("one")["links"]
    assert alone["machines"]["m1"]["cpu_s"] == 0.5
