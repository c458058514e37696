"""What ``--hosts`` says of what is asked, before anything is made."""

from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.cli.app import main

INVENTORY = "all: {hosts: {m1: {ansible_host: 192.0.2.1}, m2: {ansible_host: 192.0.2.2}}}\n"

PLACED = {"h1": "m1", "h2": "m1", "h3": "m2"}
"""In ``star``, where h3 sends no NCP."""


Said = Callable[..., tuple[int, str]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """How ``./run.sh`` ends and what it says of a scenario with ``--dry-run``."""

    def dry_run(*arguments: str, scenario: str = "startup") -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["run.sh", scenario, "--dry-run", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), "".join(capsys.readouterr())

    return dry_run


@pytest.fixture
def inventory(tmp_path: Path) -> str:
    file = tmp_path / "hosts.yml"
    file.write_text(INVENTORY)
    return str(file)


def test_the_plan_tells_which_host_is_where(said: Said, inventory: str) -> None:
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


def test_cross_traffic_has_its_hosts_on_machines_as_well(said: Said, inventory: str) -> None:
    asked = [word for host, machine in PLACED.items() for word in ("--set", f"place.{host}={machine}")]
    code, text = said("--hosts", inventory, "--engine", "mininet", *asked, scenario="star")
    assert code == 0, text
    for line in ("h1, h2 on m1", "h3 on m2"):
        assert f"  place      {line}\n" in text


def test_a_scenario_places_its_hosts_itself(said: Said, inventory: str) -> None:
    _, text = said("--hosts", inventory, "--engine", "mininet", "--set", "place.h1=m2", "--set", "place.h2=m2")
    assert "  place      h1, h2 on m2\n" in text


def test_without_the_option_all_hosts_are_here(said: Said) -> None:
    _, text = said("--engine", "mininet", "--set", "place.h1=m2")
    assert "  place " not in text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--engine", "mininet", "--set", "place.h1=m9"], 2, "place.h1: there is no inventory machine 'm9'"),
        (["--engine", "mininet", "--set", "place.h9=m1"], 2, "place.h9: there is no sending or receiving host 'h9'"),
        (["--engine", "mininet", "--runtime", "process"], 4, "--runtime process has none"),
        (["--engine", "sim"], 4, "--engine sim has no packets that could go to another machine"),
        (["--engine", "mininet", "--repeat", "3"], 2, "--hosts: its machines have one run at a time"),
    ],
)
def test_what_can_not_be_is_one_message(
    said: Said, inventory: str, arguments: list[str], code: int, words: str
) -> None:
    found, text = said("--hosts", inventory, *arguments)
    assert (found, text.count("error:")) == (code, 1), text
    assert words in text


def test_an_inventory_that_is_not_there(said: Said, tmp_path: Path) -> None:
    code, text = said("--hosts", str(tmp_path / "none.yml"), "--engine", "mininet")
    assert code == 2
    assert "none.yml: there is no such file; it should be an Ansible inventory" in text
