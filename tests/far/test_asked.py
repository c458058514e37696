"""What ``--hosts`` says of what is asked, before anything is made."""

import subprocess
import sys
from pathlib import Path

import pytest

from testbed import paths

INVENTORY = "all: {hosts: {m1: {ansible_host: 192.0.2.1}, m2: {ansible_host: 192.0.2.2}}}\n"

PLACED = {"h1": "m1", "h2": "m1", "h3": "m2"}
"""In ``star``, where h3 sends no NCP."""


def said(*arguments: str, scenario: str = "startup") -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "testbed", scenario, "--dry-run", *arguments],
        cwd=paths.CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def inventory(tmp_path: Path) -> str:
    file = tmp_path / "hosts.yml"
    file.write_text(INVENTORY)
    return str(file)


def test_the_plan_tells_which_host_is_where(inventory: str) -> None:
    code, text = said("--hosts", inventory, "--engine", "mininet")
    assert code == 0, text
    for line in (
        "h1 on m1",
        "h2 on m2",
        "between the machines: fast, slow (cut where the delay is long)",
        "middles of links: fast on m1, 1024 packets/s; slow on m2, 128 packets/s "
        "(balanced over the machines of their ends)",
    ):
        assert f"  place      {line}\n" in text


def test_cross_traffic_has_its_hosts_on_machines_as_well(inventory: str) -> None:
    asked = [word for host, machine in PLACED.items() for word in ("--set", f"place.{host}={machine}")]
    code, text = said("--hosts", inventory, "--engine", "mininet", *asked, scenario="star")
    assert code == 0, text
    for line in ("h1, h2 on m1", "h3 on m2"):
        assert f"  place      {line}\n" in text


def test_a_scenario_places_its_hosts_itself(inventory: str) -> None:
    _, text = said("--hosts", inventory, "--engine", "mininet", "--set", "place.h1=m2", "--set", "place.h2=m2")
    assert "  place      h1, h2 on m2\n" in text


def test_without_the_option_all_hosts_are_here() -> None:
    _, text = said("--engine", "mininet", "--set", "place.h1=m2")
    assert "  place " not in text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--engine", "mininet", "--set", "place.h1=m9"], 2, "place.h1: there is no machine 'm9' in the inventory"),
        (["--engine", "mininet", "--set", "place.h9=m1"], 2, "place.h9: there is no host 'h9'"),
        (["--engine", "mininet", "--runtime", "process"], 4, "--runtime process has none"),
        (["--engine", "sim"], 4, "--engine sim has no packets that could go to another machine"),
        (["--engine", "mininet", "--repeat", "3"], 2, "--hosts: its machines have one run at a time"),
    ],
)
def test_what_can_not_be_is_one_message(inventory: str, arguments: list[str], code: int, words: str) -> None:
    found, text = said("--hosts", inventory, *arguments)
    assert (found, text.count("error:")) == (code, 1), text
    assert words in text


def test_an_inventory_that_is_not_there(tmp_path: Path) -> None:
    code, text = said("--hosts", str(tmp_path / "none.yml"), "--engine", "mininet")
    assert code == 2
    assert "none.yml: there is no such file; it should be an Ansible inventory" in text
