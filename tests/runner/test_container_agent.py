"""An agent's container is watched by its process: the Docker engine is asked now and then, and when that has ended."""

import subprocess
import sys
from typing import Any

import pytest

from testbed.runtime import agents


class Container:
    """What Docker's client gives of a container, and the number of requests for its state."""

    def __init__(self) -> None:
        self.attrs = {"State": {"Running": True, "ExitCode": 0}}
        self.requests = 0

    def reload(self) -> None:
        self.requests += 1


def agent_of(process: subprocess.Popen[bytes], container: Container) -> Any:
    agent: Any = agents.ContainerAgent.__new__(agents.ContainerAgent)
    agent.container, agent.pid, agent._looked_s, agent._code = container, process.pid, 0.0, None
    return agent


@pytest.fixture
def process() -> Any:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def test_the_engine_is_asked_once_while_the_process_runs(process: subprocess.Popen[bytes]) -> None:
    container = Container()
    agent = agent_of(process, container)
    assert [agent.exit_code() for _ in range(100)] == [None] * 100
    assert container.requests == 1


def test_an_end_is_noticed_at_once(process: subprocess.Popen[bytes]) -> None:
    container = Container()
    agent = agent_of(process, container)
    assert agent.exit_code() is None
    process.kill()
    process.wait()
    container.attrs["State"] = {"Running": False, "ExitCode": 3}
    assert agent.exit_code() == 3


def test_an_engine_that_is_gone_is_noticed(process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    container = Container()
    agent = agent_of(process, container)
    monkeypatch.setattr(agents, "LOOK_S", 0.0)
    assert agent.exit_code() is None
    assert agent.exit_code() is None
    assert container.requests == 2
