"""Checks a program against the contract (docs/program.md): a short transfer for each part of it, over cables."""

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from testbed.errors import RunFailed, TestbedError, Unsupported
from testbed.judge.checks.evidence import Evidence, agent_results
from testbed.judge.trust.telemetry import of_program
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.runtime import live
from testbed.runtime.progress import QuietProgress, Step
from testbed.runtime.site import Site
from testbed.scenario.load import load
from testbed.series import FromFile
from testbed.traffic.program import Program
from testbed.traffic.program.end import EXIT_NOT_SUPPORTED, End
from topologies.commands import run


class Cables:
    """A transfer's view of a network. The hosts' namespaces have the plan's ``namespace`` and their own name."""

    def __init__(self, plan: Plan, will_make: Callable[[str], object]) -> None:
        """Make the cables. ``will_make`` gets each namespace before it is made: whoever makes cables removes them."""
        self._names = {host["name"]: f"{plan['namespace']}-{host['name']}" for host in plan["hosts"]}
        for name in self._names.values():
            will_make(name)
            run(["ip", "netns", "add", name])
        for link in plan["links"]:
            a, b = link["a"], link["b"]
            one = [a["interface"], "netns", self._names[a["host"]]]
            other = [b["interface"], "netns", self._names[b["host"]]]
            run(["ip", "link", "add", *one, "type", "veth", "peer", "name", *other])
            for end in (a, b):
                ip = ["ip", "-n", self._names[end["host"]]]
                run([*ip, "addr", "add", f"{end['address']}/{end['prefix']}", "dev", end["interface"]])
                run([*ip, "link", "set", end["interface"], "up"])

    def namespaces(self) -> Mapping[str, str]:
        """Path of each host's, by its name."""
        return {host: f"/run/netns/{name}" for host, name in self._names.items()}


Kept = Literal["kept", "not kept", "not supported"]
LIMIT_S = 15
"""Bytes of each transfer, which takes a fraction of a second."""
END_S = 2.0
RESULT_S = 0.5
"""Time after its own ``finished_unix_ns`` for a receiver's result to appear: that is when a run ends."""
SHORT = {"links": 1, "transfer": "64KiB"}


@dataclass(frozen=True)
class Case:
    """One part of the contract. ``changes`` is what its scenario has of its own."""

    name: str
    requested: str
    changes: Mapping[str, Any]
    optional: bool = False
    """Whether a program may say that it does not support it."""
    testcase: str = ""


class Outcome(NamedTuple):
    """The outcome of a part: a row of the table."""

    case: str
    requested: str
    seen: str
    kept: Kept


CASES = (
    Case("transfer", "64 KiB over one link: ready, exit 0, a true result", SHORT),
    Case("one-byte", "a single byte", {"links": 1, "transfer": "1B"}),
    Case("links", "1 MiB over two links", {"links": 2, "transfer": "1MiB"}, optional=True),
    Case("seconds", "sending for half a second", {"links": 1, "for": "500ms"}, optional=True),
    Case("unknown", f"exit {EXIT_NOT_SUPPORTED} for an unknown testcase", SHORT, testcase="no-such-testcase"),
)


def conform(program: Mapping[str, Any], results: Path, say: Callable[[str], object]) -> list[Outcome]:
    """Try the program of a scenario's section: each part in a folder of its own in ``results``."""
    found = []
    terminated = Case("terminated", f"a waiting receiver ends within {END_S:g} s of SIGTERM", SHORT)
    with tempfile.TemporaryDirectory() as scratch:
        for case in (*CASES, terminated):
            seen, kept = _tried(case, _plan(case.changes, program, Path(scratch)), results / case.name)
            found.append(Outcome(case.name, case.requested, seen, kept))
            say(f"  {case.name:<10} {kept}")
    (results / "conform.json").write_text(json.dumps([outcome._asdict() for outcome in found], indent=1) + "\n")
    return found


def _tried(case: Case, plan: Plan, folder: Path) -> tuple[str, Kept]:
    for name in ("agents", "logs", "spools"):
        (folder / name).mkdir(parents=True)
    try:
        with live.only_run(plan["run"], plan["scenario"], plan["namespace"]):
            Program.folders(plan)
            cables = Cables(plan, partial(live.ledger_of(plan["run"]).will_make, "namespace"))
            return _carry_out(case, plan, cables, folder) if case in CASES else _end_by_sigterm(plan, cables, folder)
    except Unsupported as error:
        return _short(error), "kept" if case.testcase else "not supported" if case.optional else "not kept"
    except RunFailed as error:
        return _short(error), "not kept"


def _carry_out(case: Case, plan: Plan, cables: Any, folder: Path) -> tuple[str, Kept]:
    sent = Program(Site(plan, folder, {}, QuietProgress(), {}))
    sent.testcase = case.testcase
    try:
        sent.transfer(cables, [], [], Step("transfer"))
    finally:
        sent.keep_results([])
    if case.testcase:
        return "it did something", "not kept"
    evidence = Evidence(plan, FromFile(folder / "spools" / "events.lp"), agent_results(folder / "agents"))
    receiver = evidence.result_of("s1", "receiver") or {}
    sender = evidence.result_of("s1", "sender") or {}
    wrong = [str(said) for said in of_program(evidence, "s1")]
    if sender.get("sha256") != receiver.get("sha256") or sender.get("bytes") != receiver.get("bytes"):
        wrong.append("sender and receiver tell another number of bytes, or another SHA-256")
    if plan["sessions"][0].get("transfer_bytes", receiver["bytes"]) != receiver["bytes"]:
        wrong.append(f"the receiver has {receiver['bytes']:,} bytes")
    late_s = (receiver["finished_unix_ns"] - receiver["said"]["finished_unix_ns"]) / 1e9
    if late_s > RESULT_S:
        wrong.append(f"the receiver's result was there {late_s:.1f} s after it had finished: write it at once")
    if wrong:
        return "; ".join(wrong), "not kept"
    by_link = ", ".join(f"{link} {count:,}" for link, count in receiver["captured"]["payload_bytes"].items())
    return f"{receiver['bytes']:,} bytes in {receiver['duration_s']:.3f} s; in packets: {by_link}", "kept"


def _end_by_sigterm(plan: Plan, cables: Cables, folder: Path) -> tuple[str, Kept]:
    """A receiver that nobody sends to, and SIGTERM."""
    session = plan["sessions"][0]
    namespace = cables.namespaces()[session["receiver_host"]]
    folders = folder / "spools" / "s1-receiver", folder / "programs" / "s1-receiver"
    end = End(plan, session, "receiver", namespace, folders, folder / "logs" / "s1-receiver.log")
    try:
        end.await_receiving(LIMIT_S)
        begun_s = time.monotonic()
        end.ask_to_end()
        while not end.has_ended() and time.monotonic() - begun_s < END_S:
            time.sleep(0.02)
        took_s = time.monotonic() - begun_s
        ended = end.has_ended()
        return f"{'ended' if ended else 'still on'} after {took_s:.1f} s", "kept" if ended else "not kept"
    finally:
        end.end()


def _short(error: TestbedError) -> str:
    """The error without the path of the log: all logs are in the results."""
    return error.message.split(" (log: ")[0]


def _plan(changes: Mapping[str, Any], program: Mapping[str, Any], scratch: Path) -> Plan:
    """The plan of a scenario that is written for it."""
    length = {key: value for key, value in changes.items() if key != "links"}
    names = ("first", "second")[: changes["links"]]
    document = {
        "name": "conform",
        "title": "A part of the contract",
        "links": [{"name": name, "rate": "1gbit", "delay": 0} for name in names],
        "program": {**program, **length},
        "checks": [{"name": "payload", "judge": "payload_intact"}],
        "limits": {"transfer_time": f"{LIMIT_S}s"},
    }
    file = scratch / "conform.yaml"
    file.write_text(json.dumps(document))
    return resolve(load(str(file)), {}, Choices(runtime="process"), new_run_id())
