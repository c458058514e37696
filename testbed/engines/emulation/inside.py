"""Carries out a run in the guest, without a database and without the verdict, which is left to the host.

``python -m testbed.engines.emulation.inside``, as root, in the guest; ``/out`` has the plan and gets the results.
"""

import ctypes
import importlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from testbed import paths
from testbed.documents import read_json, write_json
from testbed.engines.emulation.lifecycle import Emulation
from testbed.errors import TestbedError, Unsupported
from testbed.machine import build
from testbed.machine.kernel import kernel_facts
from testbed.plan.model import Plan
from testbed.plan.traffic_types import TRAFFIC
from testbed.runtime.network import Network
from testbed.runtime.processes import end_group
from testbed.runtime.progress import Progress
from testbed.traffic import module_of
from topologies.commands import in_namespace

NETWORK = ("mininet.net", "mininet.log", "topologies.planned", "topologies.hosts")
CHANGES = ("pyroute2",)
TCP = tuple(f"tcp.{kind}" for kind in ("download", "fetch", "iperf3"))
PRELOADED = (*NETWORK, *CHANGES, *(f"testbed.traffic.{name}" for name in (*TRAFFIC, *TCP)))
"""Modules of all plans that the runner loads when it comes to them."""
OUT = Path("/out")
RESULTS = Path("/results")
PROGRAM = OUT / "program.json"
"""The user's program that runs in place of the plan's traffic, where there is one."""
FILES = RESULTS / "files"
LISTEN_S = 1.0
"""The time that programs in the background have to begin."""
START_S = 10
"""The run's start, in seconds of the guest's uptime: late enough that the time of loading its programs doesn't show."""


def main() -> int:
    """Run the plan; its outcome is in ``guest.json``. Returns the exit code."""
    plan: Plan = read_json(OUT / "plan.json")  # type: ignore[assignment]
    binaries = {name: paths.BINARIES / name for name in build.PROGRAMS}
    run = Emulation(plan, RESULTS / plan["run"], binaries, Progress(), {})
    document: dict[str, object] = {}
    preload(modules_of(plan))
    _sleep_until(START_S)
    try:
        if PROGRAM.exists():
            document |= _program(run)
        else:
            with run.own_folder() as own:
                document["measured"] = asdict(run.measure(own))
    except Exception as error:
        if not isinstance(error, TestbedError):
            document["error"] = f"{type(error).__name__}: {error}"
            raise
        document |= {"error": error.message, "code": error.code, "unsupported": isinstance(error, Unsupported)}
        document["untrusted"] = [(reason.code, str(reason)) for reason in getattr(error, "reasons", ())]
        return 1
    finally:
        document |= {"provenance": run.provenance, "seconds": run.progress.seconds, "kernel": kernel_facts()}
        write_json(OUT / "guest.json", document)
    return 0


def _program(run: Emulation) -> dict[str, object]:
    """Run the user's program on a host once the links are measured; returns its exit code and seconds. Of the run's
    folder what the links did stays."""
    request = read_json(PROGRAM)
    FILES.mkdir()

    begun_s = 0.0

    def ready(network: Network, parts: ExitStack) -> None:
        nonlocal begun_s
        _name_hosts(network)
        if run.plan.get("traces", {}).get("pcap"):
            from testbed.runtime.packets import captured_links

            parts.callback(captured_links(parts, run.site, network.namespaces()).end)
        for host, command in request["background"].items():
            log = parts.enter_context((FILES / f"{host}.log").open("wb"))
            here = in_namespace(network.namespaces()[host], command)
            program = subprocess.Popen(here, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
            parts.callback(end_group, program, LISTEN_S)
        if request["background"]:
            time.sleep(LISTEN_S)
        parts.callback(lambda: ended.append(time.monotonic()))
        begun_s = time.monotonic()

    ended: list[float] = []
    try:
        code = run.shell(request["host"], request["command"], ready)
        return {"exit_code": code, "program_s": ended[0] - begun_s}
    finally:
        for path in run.folder.iterdir():
            if path.is_dir() and path.name != "traces":
                shutil.rmtree(path)
            elif path.name not in ("links.csv", "traces"):
                path.unlink()


def _name_hosts(network: Network) -> None:
    """Let ``ip netns exec HOST`` and the names of hosts work, and of a host's address on a link, ``HOST-LINK``."""
    folder, names = Path("/run/netns"), Path("/run/hosts")
    folder.mkdir(exist_ok=True)
    for host, namespace in network.namespaces().items():
        (folder / host).symlink_to(namespace)
    lines = ["127.0.0.1 localhost"]
    for link in network.links:
        for end in (link["a"], link["b"]):
            lines.append(f"{end['address']} {end['host']}-{link['name']} {end['host']}")
    names.write_text("".join(f"{line}\n" for line in lines))
    subprocess.run(["mount", "--bind", str(names), "/etc/hosts"], check=True)


def modules_of(plan: Plan) -> Iterator[str]:
    """The modules that the runner will load when it comes to them."""
    yield from NETWORK
    yield module_of(plan)
    if plan["timeline"]:
        yield from CHANGES


def preload(modules: Iterable[str] = PRELOADED) -> None:
    """Load modules before the run, in which that would take time."""
    for module in modules:
        importlib.import_module(module)


def _sleep_until(uptime_s: int) -> None:
    """Sleep to that very nanosecond: a sleep for the rest of the time would end as much later as it began later."""

    class Timespec(ctypes.Structure):
        _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))

    absolute = 1
    ctypes.CDLL(None).clock_nanosleep(time.CLOCK_MONOTONIC, absolute, ctypes.byref(Timespec(uptime_s, 0)), None)


if __name__ == "__main__":
    sys.exit(main())
