"""npm's packages in place of ncp-agent, over this machine's loopback: the contract, and what its counts are held
against."""

import itertools
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.judge.trust.payload import digests
from testbed.machine import build
from testbed.plan.codes import FOLDER, policies
from testbed.planning.resolve import Choices, resolve
from testbed.scenario.load import load
from topologies import control_socket

FIRST_PORT = 34567
POINT = re.compile(r"^(\w+),(\S+) (.*) \d+$", re.MULTILINE)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short enough for a Unix socket's path."""
    with tempfile.TemporaryDirectory(prefix="ncp-npm-") as made:
        yield Path(made)


def planned(folder: Path, sender: str, receiver: str, *changed: str) -> dict[str, Any]:
    """Startup's plan with its connections on the loopback, over which nothing limits the rate."""
    policy = policies()[sender]["like"] if sender in policies() else "nkp24"
    code = f"code={{sender: {sender}, receiver: {receiver}}}"
    loaded = load("startup", [f"policy={policy}", code, "transfer=1MiB", *changed])
    program = build.build_programs("ncp-agent")["ncp-agent"]
    plan: Any = resolve(loaded, build.policy_facts(program), Choices(runtime="process"), "RUN")
    for number, connection in enumerate(plan["sessions"][0]["connections"], start=1):
        connection |= {"sender": f"127.9.{number}.1:{FIRST_PORT}", "receiver": f"127.9.{number}.2:{FIRST_PORT}"}
    (folder / "plan.json").write_text(json.dumps(plan))
    return dict(plan)


def begin(folder: Path, code: str, role: str, agent: Path = FOLDER / "agent.js") -> "subprocess.Popen[bytes]":
    own = folder / role
    own.mkdir(exist_ok=True)
    program = [str(build.build_programs("ncp-agent")["ncp-agent"])] if code == "ours" else ["node", str(agent)]
    files = ["--plan", str(folder / "plan.json"), "--dir", str(own), "--control", str(own / "c.sock")]
    with (own / "log").open("wb") as log:
        return subprocess.Popen([*program, role, "--session", "s1", *files], stderr=log, stdout=log)


def ask(folder: Path, role: str, method: str, target: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(control_socket.request(folder / role / "c.sock", method, target))
    return answer


def await_ready(folder: Path, role: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if ask(folder, role, "GET", "/state")["state"] == "ready":
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError((folder / role / "log").read_text())


def transfer(folder: Path, sender: str, receiver: str) -> dict[str, Any]:
    """Both ends' results, by role."""
    started = {role: begin(folder, code, role) for role, code in (("receiver", receiver), ("sender", sender))}
    for role in started:
        await_ready(folder, role)
    assert "applied_unix_ns" in ask(folder, "receiver", "POST", "/pause-read?connection=2&ms=300")
    with pytest.raises(ValueError, match="connection 3"):
        ask(folder, "receiver", "POST", "/pause-read?connection=3&ms=300")
    ask(folder, "sender", "POST", "/start")
    for role, process in started.items():
        assert process.wait(120) == 0, (folder / role / "log").read_text()
    return {role: json.loads((folder / role / "result.json").read_text()) for role in started}


def fields_of(folder: Path) -> set[tuple[str, ...]]:
    """Each measurement of both ends' telemetry with its tags' names and its fields' names and types."""
    found: set[tuple[str, ...]] = set()
    for role in ("sender", "receiver"):
        for measurement, tags, fields in POINT.findall((folder / role / "telemetry.lp").read_text()):
            names = ",".join(tag.split("=")[0] for tag in tags.split(","))
            for field, value in re.findall(r'(\w+)=("[^"]*"|[^,]+)', fields):
                kind = "text" if value[0] == '"' else "integer" if value[-1] == "i" else "float"
                found.add((measurement, role, names, field, kind))
    return found


@pytest.mark.parametrize(
    ("sender", "receiver", "transport"),
    [
        ("npm-1.1.2", "npm-1.0.9", "udp"),
        ("npm-1.0.9", "ours", "tcp"),
        ("ours", "npm-1.1.2", "udp"),
        ("npm-1.1.2", "npm-1.1.2", "tcp"),
    ],
)
def test_it_keeps_the_agents_contract(folder: Path, sender: str, receiver: str, transport: str) -> None:
    plan = planned(folder, sender, receiver, f"transport={transport}")
    results = transfer(folder, sender, receiver)
    sha256, crc32 = digests(plan["seed"], "s1", 1 << 20)
    for role, code in (("sender", sender), ("receiver", receiver)):
        assert (results[role]["bytes"], results[role]["sha256"], results[role]["error"]) == (1 << 20, sha256, "")
        if code != "ours":
            assert results[role]["implementation"] == f"@nkn/ncp {code.removeprefix('npm-')}"
    assert results["receiver"].get("crc32", crc32) == crc32
    sent, got = (results[role]["connections"] for role in ("sender", "receiver"))
    for one, other in zip(sent, got, strict=True):
        assert one["sent"] == other["received"] > 0, "nothing is lost here"
    assert sum(each["acked"] for each in sent) == sum(each["delivered"] for each in got)
    assert sum(each["sent"] - each["resent"] for each in sent) == sum(each["delivered"] for each in got)


def test_its_telemetry_has_the_agents_fields(folder: Path) -> None:
    planned(folder, "ours", "ours")
    transfer(folder, "ours", "ours")
    ours = fields_of(folder)
    for role in ("sender", "receiver"):
        shutil.rmtree(folder / role)
    planned(folder, "npm-1.1.2", "npm-1.1.2")
    transfer(folder, "npm-1.1.2", "npm-1.1.2")
    npms = fields_of(folder)
    tags = "policy,role,run,scenario,session"
    loop = {("event_loop", role, tags, f"{of}_ms", "float") for role in ("sender", "receiver") for of in ("p99", "max")}
    assert npms - loop == ours


def test_another_version_under_the_pinned_name_is_refused(folder: Path) -> None:
    planned(folder, "npm-1.1.2", "npm-1.1.2")
    copy = folder / "npm-ncp"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("core-js-pure"))
    shutil.rmtree(copy / "node_modules" / "ncp-1.1.2")
    shutil.copytree(FOLDER / "node_modules" / "ncp-1.0.9", copy / "node_modules" / "ncp-1.1.2")
    assert begin(folder, "npm-1.1.2", "sender", copy / "agent.js").wait(60) == 2
    said = (folder / "sender" / "log").read_text()
    assert "is @nkn/ncp 1.0.9, and npm-1.1.2 is @nkn/ncp 1.1.2" in said


EARLY_TIMERS = """\
const { Recorder } = require("./recorder");
let [now, timers] = [1000, []];
global.setTimeout = (look, ms) => { timers.push([look, ms]); };
const recorder = Object.create(Recorder.prototype);
const times = [];
Object.assign(recorder, { intervalUS: 100000, nowUS: () => now, loop: { enable() {} }, sample: () => times.push(now) });
recorder.start();
while (times.length < 20) {
  const [look, ms] = timers.shift();
  now += ms * 1000 - 400;
  look();
}
console.log(JSON.stringify(times));
"""


def test_timers_that_fire_early_make_no_further_samples() -> None:
    done = subprocess.run(["node", "-e", EARLY_TIMERS], cwd=FOLDER, capture_output=True, text=True, check=True)
    times_us = json.loads(done.stdout)
    assert all(90_000 < after - before < 110_000 for before, after in itertools.pairwise(times_us)), times_us
