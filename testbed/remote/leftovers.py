"""Removes what killed or cut-off runs left on other machines."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.errors import TestbedError
from testbed.machine import build
from testbed.remote.machine import LABEL, LEAD_LABEL, Machine, forget, lead, remove_runs, runs_with_folders


def remove(machines: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Remove from machines, given by their variables, all of the runs that this one led, none of which may be on;
    another leader's runs are left alone. Returns the removed things and the problems, in words."""
    removed: list[str] = []
    problems: list[str] = []
    for name, variables in machines.items():
        with tempfile.TemporaryDirectory(prefix="ncp-far-") as own:
            try:
                machine = Machine(name, variables, "", Path(own), Path(own) / "ssh.log")
                try:
                    machine.connect()
                    _remove(machine, removed, problems)
                finally:
                    machine.disconnect()
            except TestbedError as error:
                problems.append(error.message)
    return removed, problems


def _remove(machine: Machine, removed: list[str], problems: list[str]) -> None:
    found = machine.docker.containers.list(all=True, filters={"label": LABEL})
    runs = {one.labels[LABEL]: one.labels.get(LEAD_LABEL, "") for one in found}
    helper = build.build_image(machine.docker, build.build_programs("ncp-far")["ncp-far"])
    folders = runs_with_folders(machine.docker, helper)  # some whose containers somebody removed
    for run, led_by in {**folders, **runs}.items():
        if led_by != lead():
            problems.append(f"{machine.name}: run {run} is another machine's, and may be on; clean up from there")
            continue
        remove_runs(machine.docker, [run], lambda what: removed.append(f"{what} on {machine.name}"))
        if run in runs_with_folders(machine.docker, helper):
            forget(machine.docker, helper, run)
            removed.append(f"folder of run {run} on {machine.name}")
