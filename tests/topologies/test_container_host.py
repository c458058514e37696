"""A host in a container's namespace whose container is gone."""

import subprocess

import pytest

from topologies.commands import CommandFailed
from topologies.hosts import ContainerHost


@pytest.mark.root
def test_a_container_that_has_ended_is_an_error_and_not_waited_for() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(CommandFailed, match="host h1: its container has ended"):
        ContainerHost("h1", container_pid=process.pid)
