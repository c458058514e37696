"""A shell behind a scenario's links: they are as planned, its exit code counts, and nothing is left."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.packets

Call = Callable[..., subprocess.CompletedProcess[str]]


def test_a_command_on_a_host_finds_the_links(run_sh: Call, tmp_path: Path) -> None:
    ping = "ping -c 3 -i 0.2 198.18.1.2; exit 7"
    done = run_sh("shell", "startup", "--set", "links.fast.delay=70ms", "-c", ping)
    assert done.returncode == 7, done.stderr
    least_ms = float(re.search(r"min/avg/max/mdev = ([\d.]+)", done.stdout)[1])  # type: ignore[index]
    assert least_ms >= 140
    assert "worst rate error" in done.stderr
    assert not (tmp_path / "results").exists()
    namespaces = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
    assert "ncp-" not in namespaces


def test_a_host_that_is_not_there_is_named_before_anything_is_made(run_sh: Call) -> None:
    done = run_sh("shell", "startup", "h3", "-c", "true")
    assert done.returncode == 2
    assert "there is no host 'h3' (known: h1, h2)" in done.stderr
    assert "network" not in done.stderr
