"""Records the provenance of a result: code, images, kernel, settings, seeds."""

import hashlib
import importlib.metadata
import platform
import re
import socket
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from typing_extensions import NotRequired, TypedDict

from testbed import paths
from testbed.documents import write_json
from testbed.judge import changes
from testbed.judge.history import here
from testbed.machine.kernel import kernel_facts
from testbed.plan.model import Plan
from testbed.scenario.kept import PROGRAM

SCHEMA = 2
"""The version of the result folder. 2: with ``probe.json`` and ``host_load.csv``, so that all the rest is derived."""
CODE = ("collectors", "data/published", "testbed")
worker = ""
"""The host of a cluster that runs this process; "" where there is none."""


class OfMachineAndCode(TypedDict):
    """The part that every run has, and every folder of many runs."""

    schema: int
    code: str
    commit: str
    uncommitted_changes: bool | None
    uncommitted_diff: NotRequired[dict[str, Any]]
    """Entry :data:`testbed.judge.changes.KEY`; before it is written, with its text."""
    host: str
    machine: str
    python: str
    packages: dict[str, str]
    kernel: dict[str, Any]
    """:func:`testbed.machine.kernel_facts`."""
    written: str
    worker: NotRequired[str]


class OfPlan(TypedDict):
    """Seeds and choices of a run's plan."""

    run: str
    scenario: str
    seed: int
    link_seeds: dict[str, int]
    engine: str
    runtime: str
    middle: str
    overrides: list[str]
    scenario_py_sha256: NotRequired[str]


class Provenance(OfMachineAndCode, total=False):
    """``provenance.json``: further parts depend on a run's engine and traffic, and are as the machine reported them."""

    run: OfPlan
    seconds: dict[str, float]
    of_commit: bool
    """Whether its end points were built from ``commit``, which is another one than the checkout's."""
    clock_step_s: float
    # the simulator
    simulation: dict[str, float]
    # a guest; ``guest`` has what an emulated run adds, of inside
    engine: dict[str, Any]
    guest: dict[str, Any]
    # an emulated run
    agent_image: str
    calibration: list[dict[str, Any]]
    calibration_attempts: int
    collectors: dict[str, Any]
    frames_not_captured: dict[str, Any]
    middle: dict[str, Any]
    offloads_on: dict[str, list[str]]
    qdiscs_after: list[dict[str, Any]]
    qdiscs_before: list[dict[str, Any]]
    sysctls: dict[str, dict[str, str]]
    machines: list[dict[str, Any]]
    # its traffic
    congestion_control_of_the_socket: list[str]
    congestion_control_of_the_sockets: dict[str, list[str]] | list[str]
    hosts: dict[str, Any]
    mptcp: dict[str, Any]
    program: dict[str, Any]
    removed_of_the_programs: dict[str, Any]


def of_machine_and_code() -> OfMachineAndCode:
    """The facts that all runs of this checkout on this machine share today."""
    checkout = here()
    found: OfMachineAndCode = {
        "schema": SCHEMA,
        "code": code(),
        "commit": checkout["commit"],
        "uncommitted_changes": checkout["uncommitted_changes"],
        "host": socket.gethostname(),
        "machine": platform.machine(),
        "python": sys.version.split()[0],
        "packages": _packages(),
        "kernel": kernel_facts(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    if worker:
        found["worker"] = worker
    if checkout["uncommitted_changes"] and (entry := changes.of_checkout()):
        found["uncommitted_diff"] = entry
    return found


def write(folder: Path, document: Mapping[str, Any]) -> None:
    """Write ``provenance.json``, and beside it the diff that :func:`of_machine_and_code` has in it."""
    if entry := {**document.get(changes.KEY, {})}:
        (folder / changes.FILE).write_text(entry.pop("text"), encoding="utf-8", newline="")
        document = {**document, changes.KEY: entry}
    write_json(folder / "provenance.json", document)


@cache
def code() -> str:
    """16 hexadecimal digits that change with Python's sources, the pages' templates and published figures; read once in
    a process."""
    digest = hashlib.sha256()
    for folder in CODE:
        for path in sorted((paths.CHECKOUT / folder).rglob("*")):
            if path.suffix in (".py", ".j2", ".css", ".yaml", ".csv", ".json") and path.is_file():
                digest.update(str(path.relative_to(paths.CHECKOUT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def of_plan(plan: Plan) -> OfPlan:
    """Seeds and choices."""
    return {
        "run": plan["run"],
        "scenario": plan["scenario"],
        "seed": plan["seed"],
        "link_seeds": {link["name"]: link["seed"] for link in plan["links"]},
        "engine": plan["engine"],
        "runtime": plan["runtime"],
        "middle": plan["middle"],
        "overrides": plan["overrides"],
    }


def of_program(folder: Path) -> dict[str, str]:
    """The SHA-256 of the file of a scenario in Python, as a result folder keeps it."""
    file = folder / PROGRAM
    return {"scenario_py_sha256": hashlib.sha256(file.read_bytes()).hexdigest()} if file.is_file() else {}


def _packages() -> dict[str, str]:
    """The environment's own packages, name → version."""
    own = [entry for entry in sys.path if ".venv" in entry]
    texts = (found.read_text("METADATA") or "" for found in importlib.metadata.distributions(path=own))
    # Not by `metadata`, which parses all of each text, twice: a tenth of the time that a short run takes.
    return {_header("Name", text): _header("Version", text) for text in texts}


def _header(name: str, text: str) -> str:
    found = re.search(rf"^{name}: *(\S+)", text, re.MULTILINE)
    return found[1] if found else ""
