"""The middles of a run's links where they are on several machines: a relay on each, which act as one."""

from __future__ import annotations

import contextlib
import json
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed
from testbed.message import Message
from testbed.plan.place import HERE
from testbed.remote.machine import Machine
from testbed.runtime.agents import NO_ANSWER
from testbed.runtime.processes import last_words
from topologies.link import FILES, Link
from topologies.live_change import Applied
from topologies.relay_middle import RelayMiddle

FOLDER = "middles"
"""Of a relay, in the run's folder of its machine."""
SOCKET = f"{FOLDER}/control.sock"
SPOOL = f"{FOLDER}/telemetry.lp"
RESULT = f"{FOLDER}/result.json"
CAPABILITIES = ("NET_ADMIN", "NET_RAW", "SYS_NICE", "IPC_LOCK")
"""Of the relay's container, in whose own network the middles are: it takes and sends frames, on time."""
READY_S = 10.0
LOOK_S = 0.5
END_S = 8


class FarRelay:
    """``ncp-link relay`` in a container of a machine; it begins when its interfaces are there."""

    def __init__(
        self, machine: Machine, image: str, plan: Mapping[str, Any], links: Sequence[Mapping[str, Any]], log: Path
    ) -> None:
        """``links``: those whose middles it is, as it is to have them; ``log`` gets what it says."""
        self.machine, self._log = machine, log
        self._error: Message | None = None
        self._looked_s = time.monotonic()
        machine.put(_files(plan, links), [FOLDER])
        self._container: Any = machine.docker.containers.create(
            image,
            [
                "relay",
                *("--plan", f"/far/{FOLDER}/plan.json", "--dir", f"/far/{FOLDER}"),
                *("--control", f"/far/{SOCKET}", "--wait", f"{READY_S:g}s"),
            ],
            name=f"ncp-middles-{machine.run}",
            labels=machine.labels(),
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            cap_add=list(CAPABILITIES),
            security_opt=["no-new-privileges"],
            volumes=[f"{machine.folder}:/far"],
        )
        self._container.start()
        self._container.reload()
        self.pid = int(self._container.attrs["State"]["Pid"])

    def await_ready(self) -> None:
        """Return when it takes frames; raises :class:`RunFailed`."""
        deadline = time.monotonic() + READY_S + LOOK_S
        while True:
            try:
                self.machine.ask("GET", "/state", socket=SOCKET)
                return
            except OSError as error:
                if failed := self.failed(at_once=True):
                    raise RunFailed.of(failed) from None
                if time.monotonic() > deadline:
                    raise RunFailed(
                        "relay.does-not-answer",
                        "the link relay on {machine} does not answer: {error}",
                        machine=self.machine.name,
                        error=error,
                    ) from error
                time.sleep(0.05)

    def change(self, link: Link, direction: str, properties: Mapping[str, Any], at_unix_ns: int) -> Applied:
        """As :meth:`topologies.relay_middle.RelayMiddle.change`; it keeps the time by its own clock."""
        ahead_ns = self.machine.ahead_ns
        asked = {"link": link["name"], "direction": direction}
        asked |= {"at_unix_ns": str(at_unix_ns + ahead_ns)} if at_unix_ns else {}
        try:
            answer = self.machine.ask("POST", f"/set?{urllib.parse.urlencode(asked)}", dict(properties), socket=SOCKET)
        except OSError as error:
            raise RunFailed(
                "relay.does-not-answer",
                "the link relay on {machine} does not answer: {error}",
                machine=self.machine.name,
                error=error,
            ) from error
        applied_ns = int(answer["applied_unix_ns"]) - ahead_ns
        return Applied(applied_ns, applied_ns)

    def failed(self, *, at_once: bool = False) -> Message | None:
        """How it ended by itself, looked at now and then, or None."""
        if self._error is None and (at_once or time.monotonic() - self._looked_s >= LOOK_S):
            self._looked_s = time.monotonic()
            if not self._runs():
                self._error = Message(
                    "relay.ended-elsewhere",
                    "the link relay on {machine} ended{said}",
                    machine=self.machine.name,
                    said=self._last_words(),
                )
        return self._error

    def _runs(self) -> bool:
        from docker.errors import NotFound

        try:
            self._container.reload()
        except NotFound:
            return False
        except NO_ANSWER:  # what became of the machine is told elsewhere
            return True
        return bool(self._container.attrs["State"]["Running"])

    def _last_words(self) -> str:
        self.keep_log()
        return last_words(self._log)

    def keep_log(self) -> None:
        """What it said so far; nothing where its machine is gone."""
        from docker.errors import DockerException

        with contextlib.suppress(DockerException, *NO_ANSWER):
            self._log.write_bytes(self._container.logs())

    def signal(self, name: str) -> None:
        """Send it a signal; nothing where it has ended, or its machine is gone."""
        from docker.errors import DockerException

        with contextlib.suppress(DockerException, *NO_ANSWER):
            self._container.kill(signal=name)

    def has_ended(self) -> bool:
        """Whether it runs no longer, or nobody can tell."""
        return self.machine.failure() is not None or not self._runs()

    def result(self) -> dict[str, Any] | None:
        """What it says of itself at its end, on this machine's clock, or None."""
        try:
            found: dict[str, Any] = json.loads(self.machine.read_all(RESULT))
        except (OSError, RunFailed, ValueError):
            return None
        for change in found.get("changes") or []:
            for key in ("at_unix_ns", "applied_unix_ns"):
                if change[key]:
                    change[key] -= self.machine.ahead_ns
        return found


class SpreadMiddle:
    """All of a run's, with one result."""

    name = "relay"

    def __init__(
        self,
        links: Sequence[Link],
        where: Mapping[str, str],
        here: RelayMiddle | None,
        there: Mapping[str, FarRelay],
        own: Path | None,
        result: Path,
    ) -> None:
        """``where``: the machine of each link's middle that is not here; ``here``: the relay of the others, which
        leaves its result in ``own``; ``there``: relays by machine, which are started meanwhile."""
        self._links, self._where, self._here, self._there = links, where, here, there
        self._own, self._result = own, result
        self._ended = False

    def start(self, links: Sequence[Link]) -> None:
        """Wait for those there, with that here."""
        if self._here:
            self._here.start([link for link in links if link["name"] not in self._where])
        for relay in self._there.values():
            relay.await_ready()

    def change(self, link: Link, direction: str, properties: Mapping[str, Any], *, at_unix_ns: int = 0) -> Applied:
        """By the relay that has the link's middle."""
        if machine := self._where.get(link["name"]):
            return self._there[machine].change(link, direction, properties, at_unix_ns)
        assert self._here is not None
        return self._here.change(link, direction, properties, at_unix_ns=at_unix_ns)

    def carrier(self, link: Link, *, up: bool, at_unix_ns: int = 0) -> Applied:
        """Of a link whose middle is here; that of another is its machine's, see
        :meth:`testbed.remote.hosts.FarHosts.change_plug`."""
        if self._here is None or link["name"] in self._where:
            return Applied(0, 0)
        return self._here.carrier(link, up=up, at_unix_ns=at_unix_ns)

    def facts(self) -> dict[str, Any]:
        """As of one relay, and where the middles are."""
        return {"middle": self.name, "losses_seeded": True, "reason": "", "elsewhere": dict(self._where)}

    def failed(self) -> Message | None:
        """What happened to the first that ended by itself."""
        asked = ([self._here.failed] if self._here else []) + [relay.failed for relay in self._there.values()]
        return next((said for failed in asked if (said := failed())), None)

    def ask_to_end(self) -> None:
        """All of them."""
        if self._here:
            self._here.ask_to_end()
        for relay in self._there.values():
            relay.signal("SIGTERM")

    def has_ended(self) -> bool:
        """Whether all have."""
        return (not self._here or self._here.has_ended()) and all(one.has_ended() for one in self._there.values())

    def kill(self) -> None:
        """End them at once."""
        if self._here:
            self._here.kill()
        for relay in self._there.values():
            relay.signal("SIGKILL")

    def stop(self) -> None:
        """End them; what all of them say of themselves is one result then, unless one of them leaves none."""
        if self._ended:
            return
        self._ended = True
        self.ask_to_end()
        if self._here:
            self._here.stop()
        deadline = time.monotonic() + END_S
        while not self.has_ended() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.kill()
        for relay in self._there.values():
            relay.keep_log()
        results = {name: relay.result() for name, relay in self._there.items()}
        if self._own:
            with contextlib.suppress(OSError, ValueError):
                results[HERE] = json.loads((self._own / "result.json").read_text())
        whole = {name: result for name, result in results.items() if result}
        if len(whole) == len(self._there) + bool(self._here):
            order = [link["name"] for link in self._links]
            self._result.write_text(json.dumps(as_one(whole, order), indent=1, ensure_ascii=False) + "\n")


def as_one(results: Mapping[str, dict[str, Any]], order: Sequence[str]) -> dict[str, Any]:
    """The results of relays, by machine, as that of one (``order``: of the links), and of each what is its own."""
    links = [link for result in results.values() for link in result["links"]]
    changes = [change for result in results.values() for change in result.get("changes") or []]
    first = next(iter(results.values()))
    return {
        "schema": first["schema"],
        "run": first["run"],
        "seconds": max(result["seconds"] for result in results.values()),
        "ring_drops": sum(result["ring_drops"] for result in results.values()),
        "links": sorted(links, key=lambda link: order.index(link["link"])),
        "changes": sorted(changes, key=lambda change: change["at_unix_ns"]),
        "machines": {
            name or "here": {
                "links": sorted({link["link"] for link in result["links"]}, key=order.index),
                **{key: result[key] for key in ("seconds", "cpu_s", "granted", "ring_drops")},
            }
            for name, result in results.items()
        },
    }


def _files(plan: Mapping[str, Any], links: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """The relay's plan, and the files that its links name, which are beside it there."""
    files, told = {}, []
    for link in links:
        there = {}
        for key in FILES:
            if path := str(link.get(key, "")):
                there[key] = f"{key}-{link['index']}"
                files[f"{FOLDER}/{there[key]}"] = Path(path).read_bytes()
        told.append({**link, **there})
    document = {**plan, "links": told}
    return files | {f"{FOLDER}/plan.json": json.dumps(document, indent=1, ensure_ascii=False).encode()}
