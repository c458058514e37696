"""The hosts of an Ansible inventory, checked before anything is done to them."""

import difflib
import json
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.errors import BadInput
from testbed.machine.provisioning import ansible

OURS = "ncp_testbed_"
"""Prefix of the testbed's own variables."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
EXAMPLE = "playbooks/inventory/cluster.example.yml"
SCHEDULER = "scheduler"
"""The group of the host that schedules; without it, it is the first by name."""


@dataclass(frozen=True)
class Inventory:
    """The hosts in order, with their variables, and the name of the one that schedules."""

    hosts: Mapping[str, Mapping[str, Any]]
    scheduler: str

    def write(self, file: Path) -> None:
        """The inventory in one file, with the variables of hosts from groups and files beside it."""
        file.touch(mode=0o600)
        file.write_text(json.dumps({"all": {"hosts": self.hosts}}))


def here(variables: Mapping[str, Any]) -> bool:
    """Whether a host is this machine."""
    return variables.get("ansible_connection") == "local"


def names(file: Path) -> set[str]:
    """The hosts of an inventory that was written so."""
    return set(json.loads(file.read_text())["all"]["hosts"])


def read(file: Path) -> Inventory:
    """The inventory as Ansible reads the file.

    Raises:
        BadInput: it is no inventory, has no hosts, or a variable is wrong; names host, variable, value and what would
            be right.
    """
    if not file.is_file():
        raise BadInput(
            "inventory.missing", f"{file}: there is no such file; it should be an Ansible inventory, as {EXAMPLE}"
        )
    command, environment = ansible("inventory", "-i", str(file), "--list")
    environment["ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED"] = "true"
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise BadInput(
            "inventory.not-readable",
            f"{file}: should be an Ansible inventory, but Ansible can't read it: {_reason(done.stderr)}",
        )
    return checked(file, json.loads(done.stdout))


def checked(file: Path, listed: Mapping[str, Any]) -> Inventory:
    """The inventory that ``ansible-inventory --list`` tells of; raises as :func:`read` does."""
    variables: dict[str, dict[str, Any]] = listed.get("_meta", {}).get("hostvars", {})
    groups = [group["hosts"] for group in listed.values() if isinstance(group, dict) and "hosts" in group]
    hosts = {host: variables.get(host, {}) for host in sorted({host for group in groups for host in group})}
    if not hosts:
        raise BadInput("inventory.no-hosts", f"{file}: has no hosts; it should have one at least, under all: hosts:")
    taken: dict[tuple[str, int], str] = {}
    for host, own in hosts.items():
        place = (str(own.get("ansible_host", host)), _check(file, host, own))
        if place in taken:
            raise BadInput(
                "inventory.host-twice",
                f"{file}: {host}: ansible_host: {place[0]!r} is {taken[place]}'s as well; each host should be a "
                "machine",
            )
        taken[place] = host
    chosen = listed.get(SCHEDULER, {}).get("hosts", [])
    if len(chosen) > 1:
        raise BadInput(
            "inventory.several-schedulers", f"{file}: group {SCHEDULER}: {', '.join(chosen)}: should be one host"
        )
    return Inventory(hosts, (chosen or list(hosts))[0])


def _check(file: Path, host: str, variables: Mapping[str, Any]) -> int:
    """Raise if a host's name or a variable is wrong; returns the port."""
    if not NAME.fullmatch(host):
        raise BadInput(
            "inventory.bad-host-name",
            f"{file}: host {host!r}: a name should have letters, digits, '.', '_' and '-' only, at most 63",
        )
    for name in variables:
        if name.startswith(OURS) and name not in RULES:
            ours = [rule.removeprefix(OURS) for rule in RULES if rule.startswith(OURS)]
            near = difflib.get_close_matches(name.removeprefix(OURS), ours, n=1)
            there = f"did you mean {OURS}{near[0]}?" if near else f"there are {', '.join(OURS + our for our in ours)}"
            raise BadInput("inventory.unknown-variable", f"{file}: {host}: there is no variable {name}; {there}")
    for name, (right, should_be) in RULES.items():
        if name in variables and not right(variables[name]):
            raise BadInput("inventory.bad-value", f"{file}: {host}: {name}: {variables[name]!r} should be {should_be}")
    return int(variables.get("ansible_port", 22))


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _whole(value: object, most: int) -> bool:
    """Also as text: inventories in INI have some numbers so."""
    return not isinstance(value, bool) and str(value).isdecimal() and 1 <= int(str(value)) <= most


RULES: dict[str, tuple[Callable[[object], bool], str]] = {
    "ansible_host": (_text, "a name or an address"),
    "ansible_port": (lambda value: _whole(value, 65535), "a number from 1 to 65535"),
    "ncp_testbed_cores": (lambda value: _whole(value, 4096), "how many runs go side by side, from 1 to 4096"),
    "ncp_testbed_address": (_text, "the address at which the other hosts and this machine reach the host"),
    "ncp_testbed_real_packets": (lambda value: isinstance(value, bool), "true or false"),
}
"""Rules of a host's variables."""


def _reason(said: str) -> str:
    """The last thing that Ansible complains of, in a line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR" in line or "Failed to parse" in line] or lines
    return errors[-1][:300] if errors else "it says nothing"
