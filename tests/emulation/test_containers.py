"""Agents of several sessions in containers of one host."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from tests.emulation.conftest import ON_ANY_MACHINE, result_folder

pytestmark = pytest.mark.packets

Call = Callable[..., subprocess.CompletedProcess[str]]


def agent(folder: Path, name: str) -> dict[str, Any]:
    """What an agent said at its end."""
    result: dict[str, Any] = json.loads((folder / "agents" / f"{name}.json").read_text())
    return result


SHORTER = (("transfer: 2MiB", "transfer: 640KiB"), ("from: 2s, to: 9s", "from: 1s, to: 3s"))
"""Of the scenario: four seconds of its bottleneck, of which two are judged by the same limits."""


def shorter(scenario: str) -> str:
    """A shipped scenario's text with :data:`SHORTER` in it."""
    text = (paths.CHECKOUT / "scenarios" / f"{scenario}.yaml").read_text()
    for before, after in SHORTER:
        assert before in text
        text = text.replace(before, after)
    return text


def test_agents_of_one_host_share_its_network_in_containers(run_sh: Call, tmp_path: Path) -> None:
    (tmp_path / "incast.yaml").write_text(shorter("incast"))
    done = run_sh(str(tmp_path / "incast.yaml"), "--runtime", "docker", *ON_ANY_MACHINE)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = result_folder(tmp_path, "incast")
    receivers = [agent(folder, f"s{number}-receiver") for number in (1, 2, 3)]
    assert [receiver["bytes"] for receiver in receivers] == [640 << 10] * 3
    assert len({receiver["sha256"] for receiver in receivers}) == 3, "each session has a payload of its own"
    # All of it came over the one link of the host that they share.
    if json.loads((folder / "plan.json").read_text())["middle"] == "relay":
        relay = json.loads((folder / "relay.json").read_text())["links"]
        crossed = next(link["sent"] for link in relay if (link["link"], link["direction"]) == ("sink", "ba"))
        assert crossed >= 3 * 640
