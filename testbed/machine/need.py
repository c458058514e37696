"""The needs of commands."""

from enum import Enum


class Need(Enum):
    """A need of commands, for which a machine has requirements."""

    PYTHON = "any command"
    BUILD = "building the Go programs"
    EMULATION = "emulating links"
    TOOLS = "hosts, links and traffic, on this kernel or a guest's"
    GUEST = "a kernel of the run's own"
    CONTAINERS = "agents in containers"
    DATABASE = "storing telemetry"
    PEERS = "npm's implementations of NCP"
    NDN_PEERS = "other implementations of NDN"
    MPTCP = "the kernel's MPTCP beside NCP"
    CLUSTER = "studies on many machines"
    SITE = "the site of docs/"
    TESTS = "tests and linters"
