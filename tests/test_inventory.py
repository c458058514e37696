"""Inventories: what Ansible reads is taken; what is wrong is told by host, variable and value, and nothing is done."""

from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.errors import BadInput
from testbed.machine import inventory
from tests.raises import Containing, Said, raises

FILE = Path("hosts.yml")


def listed(**variables: Any) -> dict[str, Any]:
    """What ansible-inventory tells of two hosts, the second with these variables."""
    return {
        "_meta": {"hostvars": {"b": {"ansible_host": "10.0.0.1"}, "a": {"ansible_host": "10.0.0.2", **variables}}},
        "all": {"children": ["ungrouped"]},
        "ungrouped": {"hosts": ["b", "a"]},
    }


def test_hosts_are_in_order_and_the_first_schedules() -> None:
    found = inventory.checked(FILE, listed())
    assert (list(found.hosts), found.scheduler) == (["a", "b"], "a")


def test_the_group_scheduler_says_who_schedules() -> None:
    assert inventory.checked(FILE, {**listed(), "scheduler": {"hosts": ["b"]}}).scheduler == "b"
    with raises(BadInput, "inventory.several-schedulers", group="scheduler", hosts="a, b"):
        inventory.checked(FILE, {**listed(), "scheduler": {"hosts": ["a", "b"]}})


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        (
            {"ansible_port": 0},
            Said(
                "inventory.bad-value", host="a", variable="ansible_port", value=0, should_be="a number from 1 to 65535"
            ),
        ),
        (
            {"ansible_port": "ssh"},
            Said(
                "inventory.bad-value", host="a", variable="ansible_port", value="ssh", should_be=Containing("a number")
            ),
        ),
        (
            {"ncp_testbed_cores": True},
            Said(
                "inventory.bad-value",
                host="a",
                variable="ncp_testbed_cores",
                value=True,
                should_be=Containing("how many runs go side by side"),
            ),
        ),
        ({"ncp_testbed_cores": 0}, Said("inventory.bad-value", host="a", variable="ncp_testbed_cores", value=0)),
        (
            {"ncp_testbed_real_packets": "no"},
            Said(
                "inventory.bad-value",
                host="a",
                variable="ncp_testbed_real_packets",
                value="no",
                should_be="true or false",
            ),
        ),
        (
            {"ncp_testbed_core": 2},
            Said(
                "inventory.unknown-variable",
                host="a",
                variable="ncp_testbed_core",
                known="did you mean ncp_testbed_cores?",
            ),
        ),
        (
            {"ncp_testbed_x": 2},
            Said(
                "inventory.unknown-variable",
                host="a",
                variable="ncp_testbed_x",
                known=Containing("there are ncp_testbed_cores"),
            ),
        ),
        (
            {"ansible_host": ""},
            Said("inventory.bad-value", host="a", variable="ansible_host", value="", should_be="a name or an address"),
        ),
        ({"ansible_host": "10.0.0.1"}, Said("inventory.host-twice", address="10.0.0.1", other="a")),
    ],
)
def test_what_is_wrong_is_told_by_host_variable_and_value(variables: dict[str, Any], told: Said) -> None:
    with pytest.raises(BadInput) as raised:
        inventory.checked(FILE, listed(**variables))
    assert raised.value.message.startswith("hosts.yml: ")
    told.check(raised.value)


def test_numbers_of_an_inventory_in_ini_are_text() -> None:
    assert inventory.checked(FILE, listed(ansible_port="2222", ncp_testbed_cores="4")).hosts.keys() == {"a", "b"}


def test_one_address_with_two_ports_is_two_machines() -> None:
    assert inventory.checked(FILE, listed(ansible_host="10.0.0.1", ansible_port=2222)).hosts.keys() == {"a", "b"}


def test_names_that_are_no_names_of_hosts_are_refused() -> None:
    with raises(BadInput, "inventory.bad-host-name", host="../x"):
        inventory.checked(FILE, {"ungrouped": {"hosts": ["../x"]}})


def test_an_inventory_without_hosts_is_refused() -> None:
    with raises(BadInput, "inventory.no-hosts"):
        inventory.checked(FILE, {"_meta": {"hostvars": {}}, "all": {"children": ["ungrouped"]}})


def test_the_example_is_read_by_ansible_itself() -> None:
    found = inventory.read(paths.CHECKOUT / inventory.EXAMPLE)
    assert (list(found.hosts), found.scheduler) == (["node1", "node2", "node3"], "node1")


def test_a_copy_is_the_same_inventory_with_what_groups_say(tmp_path: Path) -> None:
    found, copy = inventory.read(paths.CHECKOUT / inventory.EXAMPLE), tmp_path / "copy.json"
    found.write(copy)
    assert inventory.names(copy) == {"node1", "node2", "node3"}
    assert inventory.read(copy).hosts == found.hosts
    assert found.hosts["node3"]["ansible_user"] == "root"
    assert copy.stat().st_mode & 0o777 == 0o600


def test_what_ansible_cannot_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "hosts.yml"
    file.write_text("all: [")
    with raises(BadInput, "inventory.not-readable", file=Containing("hosts.yml")):
        inventory.read(file)
    with raises(BadInput, "inventory.missing"):
        inventory.read(tmp_path / "none.yml")
