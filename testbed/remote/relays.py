"""The link emulators of a run where they are on several machines: a relay on each, which act as one."""

import contextlib
import json
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.documents import write_json
from testbed.errors import RunFailed
from testbed.message import Message
from testbed.plan.place import HERE
from testbed.remote.machine import Machine
from testbed.runtime.agents import Container, no_answer, start_container
from testbed.runtime.parts import end_together
from testbed.runtime.processes import last_words
from topologies.link import FILES, Link
from topologies.live_change import Applied
from topologies.relay_middle import RelayMiddle

FOLDER = "middles"
"""A relay's folder, in the run's folder of its machine."""
SOCKET = f"{FOLDER}/control.sock"
SPOOL = f"{FOLDER}/telemetry.lp"
RESULT = f"{FOLDER}/result.json"
CAPABILITIES = ("NET_ADMIN", "NET_RAW", "SYS_NICE", "IPC_LOCK")
"""Capabilities of the relay's container, whose network the links cross: it takes and sends frames, on time."""
READY_S = 10.0
LOOK_S = 0.5
END_S = 8


class RemoteRelay(Container):
    """``ncp-link relay`` in a container of a machine; it begins when its interfaces are there."""

    def __init__(
        self, machine: Machine, image: str, plan: Mapping[str, Any], links: Sequence[Mapping[str, Any]], log: Path
    ) -> None:
        """``links``: those that it emulates, with the properties that it is to have; ``log`` gets its output."""
        self.machine, self._log = machine, log
        self._error: Message | None = None
        self._looked_s = time.monotonic()
        machine.put(_files(plan, links), [FOLDER])
        command = ["relay", "--plan", f"/far/{FOLDER}/plan.json", "--dir", f"/far/{FOLDER}"]
        self.container, self.pid = start_container(
            machine.docker,
            image,
            [*command, "--control", f"/far/{SOCKET}", "--wait", f"{READY_S:g}s"],
            name=f"ncp-middles-{machine.run}",
            labels=machine.labels(),
            network_mode="none",
            cap_add=list(CAPABILITIES),
            volumes=[f"{machine.folder}:/far"],
        )

    def start(self, _links: Sequence[Link]) -> None:
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
                    raise self._silent(error) from error
                time.sleep(0.05)

    def _silent(self, error: OSError) -> RunFailed:
        name = self.machine.name
        return RunFailed("relay.does-not-answer", f"the link relay on {name} does not answer: {error}")

    def change(self, link: Link, direction: str, properties: Mapping[str, Any], *, at_unix_ns: int = 0) -> Applied:
        """Change a link as :meth:`topologies.relay_middle.RelayMiddle.change`; it keeps the time by its own clock."""
        ahead_ns = self.machine.ahead_ns
        where = {"link": link["name"], "direction": direction}
        where |= {"at_unix_ns": str(at_unix_ns + ahead_ns)} if at_unix_ns else {}
        try:
            answer = self.machine.ask("POST", f"/set?{urllib.parse.urlencode(where)}", dict(properties), socket=SOCKET)
        except OSError as error:
            raise self._silent(error) from error
        applied_ns = int(answer["applied_unix_ns"]) - ahead_ns
        return Applied(applied_ns, applied_ns)

    def carrier(self, _link: Link, *, up: bool, at_unix_ns: int = 0) -> Applied:
        """Nothing: :meth:`testbed.remote.hosts.InventoryHosts.set_link_up` does it."""
        return Applied(0, 0)

    def failed(self, *, at_once: bool = False) -> Message | None:
        """The end of the relay that nobody ended, looked up now and then, or None."""
        if self._error is None and (at_once or time.monotonic() - self._looked_s >= LOOK_S):
            self._looked_s = time.monotonic()
            if not self._runs():
                self.keep_log()
                said, name = last_words(self._log), self.machine.name
                self._error = Message("relay.ended-elsewhere", f"the link relay on {name} ended{said}")
        return self._error

    def _runs(self) -> bool:
        try:
            state = self.state()
        except no_answer():  # the machine's failure is reported elsewhere
            return True
        return state is not None and bool(state["Running"])

    def stop(self) -> None:
        """Keep its output; :func:`~testbed.runtime.parts.end_together` has ended it."""
        self.keep_log()

    def keep_log(self) -> None:
        """Leave its output so far in the log; nothing where its machine is gone."""
        from docker.errors import DockerException

        with contextlib.suppress(*no_answer(DockerException)):
            self._log.write_bytes(self.container.logs())

    def has_ended(self) -> bool:
        """Whether it runs no longer, or nobody can tell."""
        return self.machine.failure() is not None or not self._runs()

    def result(self) -> dict[str, Any]:
        """The relay's result at its end, on this machine's clock; raises OSError, :class:`RunFailed` or ValueError
        where it left none."""
        found: dict[str, Any] = json.loads(self.machine.read_all(RESULT))
        for change in found.get("changes") or []:
            for key in ("at_unix_ns", "applied_unix_ns"):
                if change[key]:
                    change[key] -= self.machine.ahead_ns
        return found


class SpreadRelay:
    """All relays of a run as one link emulator, with one result."""

    name = "relay"

    def __init__(
        self,
        links: Sequence[Link],
        where: Mapping[str, str],
        relays: Mapping[str, RelayMiddle | RemoteRelay],
        own: Path,
        result: Path,
    ) -> None:
        """``where``: the machine of each link's emulator that is not here; ``relays``: by machine, of which remote ones
        are started meanwhile; the one that is here, if any, leaves its result in ``own``."""
        self._links, self._where, self._relays = links, where, relays
        self._own, self._result = own / "result.json", result
        self._ended = False

    def _at(self, link: Link) -> str:
        """The machine of a link's emulator."""
        return self._where.get(link["name"], HERE)

    def start(self, links: Sequence[Link]) -> None:
        """Wait until all relays take frames."""
        for machine, relay in self._relays.items():
            relay.start([link for link in links if self._at(link) == machine])

    def change(self, link: Link, direction: str, properties: Mapping[str, Any], *, at_unix_ns: int = 0) -> Applied:
        """Change a link by its own relay."""
        return self._relays[self._at(link)].change(link, direction, properties, at_unix_ns=at_unix_ns)

    def carrier(self, link: Link, *, up: bool, at_unix_ns: int = 0) -> Applied:
        """Take a link up or down by its own relay."""
        return self._relays[self._at(link)].carrier(link, up=up, at_unix_ns=at_unix_ns)

    def facts(self) -> dict[str, Any]:
        """The facts of one relay, and the machines of links."""
        return {"middle": self.name, "losses_seeded": True, "reason": "", "elsewhere": dict(self._where)}

    def failed(self) -> Message | None:
        """The end of the first relay that nobody ended, or None."""
        return next((said for relay in self._relays.values() if (said := relay.failed())), None)

    def stop(self) -> None:
        """End all relays and write their results as one, unless one of them leaves none."""
        if self._ended:
            return
        self._ended = True
        end_together(self._relays.values(), limit_s=END_S)
        whole = {}
        for name, relay in self._relays.items():
            relay.stop()
            with contextlib.suppress(OSError, RunFailed, ValueError):
                whole[name] = relay.result() if isinstance(relay, RemoteRelay) else json.loads(self._own.read_text())
        if whole and len(whole) == len(self._relays):
            write_json(self._result, as_one(whole, [link["name"] for link in self._links]))


def as_one(results: Mapping[str, dict[str, Any]], order: Sequence[str]) -> dict[str, Any]:
    """The results of relays, by machine, as that of one (``order``: of the links), with each machine's own part."""
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
    """The relay's plan, and beside it the files that its links name."""
    files: dict[str, bytes] = {}
    there = []
    for link in links:
        names = {key: f"{key}-{link['index']}" for key in FILES if link.get(key)}
        files |= {f"{FOLDER}/{name}": Path(str(link[key])).read_bytes() for key, name in names.items()}
        there.append({**link, **names})
    document = json.dumps({**plan, "links": there}, indent=1, ensure_ascii=False)
    return files | {f"{FOLDER}/plan.json": document.encode()}
