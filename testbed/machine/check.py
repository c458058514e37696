"""The list of requirements, and which of them a command needs."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from testbed.machine import guest_kernel, interop, kernel, machine
from testbed.machine.finding import Finding, Level, Probed
from testbed.machine.need import Need


@dataclass(frozen=True)
class Requirement:
    """One thing that a machine must have, or that is worth telling."""

    name: str
    why: str
    probe: Callable[[], Probed]
    need: Need
    tag: str | None = None
    level: Level = "required"

    def check(self) -> Finding:
        """Probe it; a probe that breaks down counts as not there, with the reason."""
        try:
            probed = self.probe()
        except Exception as error:  # one broken probe must not hide what the others say
            probed = Probed(False, f"the probe failed: {type(error).__name__}: {error}")
        tag = None if probed.by_hand else self.tag
        fix = "" if probed.ok else "; or ".join(filter(None, (self._by_playbook(tag), BY_HAND.get(self.name))))
        return Finding(self.name, probed.ok, probed.detail, fix, self.level, self.why, tag)

    def _by_playbook(self, tag: str | None) -> str:
        sudo = "sudo " if os.geteuid() != 0 and tag not in TAGS_WITHOUT_ROOT else ""
        return f"{sudo}./run.sh {INSTALLED_BY.get(self.need, 'doctor --fix')} (playbook tag {tag})" if tag else ""


INSTALLED_BY = {
    Need.TESTS: "test",
    Need.NDN_PEERS: "test",
    Need.PEERS: "interop",
    Need.GUEST: "doctor --build",
    Need.CLUSTER: "cluster up",
    Need.SITE: "docs",
}
"""Commands that install what most runs do without; ``doctor --fix`` installs all else."""

TAGS_WITHOUT_ROOT = frozenset({"python", "go", "cluster", "docs"})
"""Tags of the playbook's tasks that need no root."""


PYTHON, BUILD, EMULATION, TOOLS = Need.PYTHON, Need.BUILD, Need.EMULATION, Need.TOOLS

REQUIREMENTS = (
    Requirement("python packages", "the testbed itself", machine.pinned("testbed"), PYTHON, "python"),
    Requirement("root", "namespaces and links are root's", machine.root, EMULATION),
    Requirement("mininet", "makes hosts and links", machine.mininet, TOOLS, "system"),
    Requirement("ip", "makes interfaces and namespaces", machine.program("ip", "-V"), TOOLS, "system"),
    Requirement("tc", "shapes links", machine.program("tc", "-V"), TOOLS, "system"),
    Requirement("nsenter", "enters namespaces", machine.program("nsenter", "--version"), TOOLS, "system"),
    Requirement("unshare", "probes the kernel", machine.program("unshare", "--version"), TOOLS, "system"),
    Requirement("ethtool", "turns offloads off", machine.program("ethtool", "--version"), TOOLS, "system"),
    Requirement("socat", "joins agents and InfluxDB", machine.program("socat"), TOOLS, "system"),
    Requirement("iperf3", "makes TCP traffic", machine.program("iperf3", "--version"), TOOLS, "system"),
    Requirement("curl", "fetches web objects", machine.program("curl", "--version"), EMULATION, "system"),
    Requirement("tcpdump", "captures what is judged", machine.program("tcpdump", "--version"), EMULATION, "system"),
    Requirement("mptcpize", "turns iperf3 to MPTCP", machine.program("mptcpize"), Need.MPTCP, "system"),
    Requirement("veth", "a link is a pair of them", partial(kernel.can, kernel.VETH), EMULATION, "system"),
    Requirement("bridge", "the management network", partial(kernel.can, kernel.BRIDGE), EMULATION, "system"),
    Requirement("htb", "sets a link's rate and queue", partial(kernel.can, kernel.HTB), EMULATION, "system"),
    Requirement("docker engine", "agents run in containers", machine.docker_engine, Need.CONTAINERS, "docker"),
    Requirement("go", "builds agents and relay", machine.go_version, BUILD, "go"),
    Requirement("influxdb", "stores telemetry", machine.influxdb, Need.DATABASE, "influxdb"),
    Requirement("folders", "what is built, and results", machine.folders, BUILD),
    Requirement("disk", "images, build cache and results", machine.disk, BUILD),
    Requirement("node", "runs npm's implementations", interop.node, Need.PEERS, "interop"),
    Requirement("npm packages", "npm's implementations of NCP", interop.packages, Need.PEERS, "interop"),
    Requirement("node for ndnts", "tests of NDNts", interop.node_for_ndnts, Need.NDN_PEERS, level="optional"),
    Requirement("ndnts packages", "NDNts as a peer", interop.ndn_packages, Need.NDN_PEERS, "ndn-peers"),
    Requirement("cluster packages", "studies on many machines", machine.pinned("cluster"), Need.CLUSTER, "cluster"),
    Requirement("site tools", "./run.sh docs", machine.site_tools, Need.SITE, "docs"),
    Requirement("test tools", "./run.sh test", machine.test_tools, Need.TESTS, "test"),
    Requirement("browser", "report --pdf, and tests of reports", machine.browser, Need.TESTS, "test", "optional"),
    Requirement("memory", "agents, InfluxDB and the Go compiler", machine.memory, EMULATION, level="optional"),
    Requirement("cores", "links in time, so that runs are trusted", machine.cores, EMULATION, level="optional"),
    Requirement("guest kernel", "--engine vkernel", guest_kernel.probe_any, Need.GUEST, "vkernel"),
    Requirement("virtual time", "", guest_kernel.probe_virtual_time, Need.GUEST, level="fact"),
    Requirement("kernel", "", kernel.release, EMULATION, level="fact"),
    Requirement("netem", "links without the relay", partial(kernel.can, kernel.NETEM), EMULATION, level="fact"),
    Requirement("congestion control", "TCP experiments", kernel.congestion_control, EMULATION, level="fact"),
    Requirement("mptcp", "multipath TCP experiments", kernel.mptcp, EMULATION, level="fact"),
)

BY_HAND = {
    "root": "run it as root: sudo ./run.sh …",
    "mininet": "apt-get install mininet, and use the distribution's python3",
    "veth": "use a kernel with CONFIG_VETH",
    "bridge": "use a kernel with CONFIG_BRIDGE",
    "htb": "use a kernel with CONFIG_NET_SCH_HTB",
    "docker engine": "--runtime process",
    "influxdb": "name a free port with NCP_TESTBED_INFLUX_PORT or a server of your own with NCP_TESTBED_INFLUX_URL",
    "folders": "use a clone of your own; NCP_TESTBED_RESULTS names another folder for results",
    "disk": "free 2 GiB, or move results with NCP_TESTBED_RESULTS",
    "node": f"install Node {interop.OLDEST_NODE} or newer from nodejs.org",
    "node for ndnts": f"install Node {interop.OLDEST_NODE_FOR_NDNTS} or newer from nodejs.org",
    "browser": "install Chromium or Chrome, or name one with NCP_TESTBED_BROWSER",
    "memory": "free 1 GiB",
    "cores": "use a machine with two cores",
}
"""Fixes of requirements by the user, without the playbook, by their names."""

OF_VERBS = {
    # Test tools include the guest's kernel, where there can be one; the site is looked at by night.
    "test": frozenset(Need) - {Need.GUEST, Need.SITE},
    "up": frozenset({PYTHON, Need.DATABASE}),
    "show": frozenset({PYTHON, BUILD}),
    "cluster": frozenset({PYTHON, Need.CLUSTER}),
    "docs": frozenset({PYTHON, Need.SITE}),
}
"""Verbs that make no runs of an engine's, which says itself what they need."""


def needs(verb: str) -> frozenset[Need]:
    """Needs of a verb that makes no runs of an engine."""
    return OF_VERBS.get(verb, frozenset({PYTHON}))


def probe_all() -> list[Finding]:
    """Every requirement, probed in parallel, in the order of the list."""
    return _check(REQUIREMENTS)


def missing(expected: frozenset[Need]) -> list[Finding]:
    """The requested requirements that this machine lacks."""
    found = _check(tuple(r for r in REQUIREMENTS if r.need in expected and r.level == "required"))
    return [finding for finding in found if not finding.ok]


def lacking(findings: Iterable[Finding], expected: frozenset[Need]) -> list[Finding]:
    """Lacking requirements, of those that are requested, among the findings of all."""
    names = {r.name for r in REQUIREMENTS if r.need in expected and r.level == "required"}
    return [finding for finding in findings if not finding.ok and finding.name in names]


def _check(requirements: tuple[Requirement, ...]) -> list[Finding]:
    with ThreadPoolExecutor(max_workers=8) as pool:
        return list(pool.map(Requirement.check, requirements))
