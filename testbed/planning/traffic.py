"""The traffic of a scenario in the plan: NCP's sessions, or one transfer of another protocol in their shape."""

from testbed.machine.need import Need
from testbed.plan import model
from testbed.plan.codes import NPM
from testbed.plan.model import Runtime, Sections
from testbed.planning import ndn as ndn_plan
from testbed.planning import program as program_plan
from testbed.planning.resolved import Topology
from testbed.planning.sessions import PolicyFacts, connection_of, session_over, sessions_of
from testbed.scenario.load import LoadedScenario
from testbed.scenario.model import Scenario
from testbed.scenario.sessions import Session
from testbed.scenario.tcp import Tcp
from topologies.link import ncp_frame_bytes


def frame_bytes(scenario: Scenario) -> int:
    """A full data packet of the scenario's traffic on the wire, which packets per second are counted in."""
    return program_plan.FULL_FRAME_BYTES if scenario.ncp is None else ncp_frame_bytes(scenario.ncp.mtu_bytes)


def needs_of(scenario: Scenario) -> frozenset[Need]:
    """Needs that the traffic has of the machine beside those of its engine."""
    return frozenset({Need.PEERS} if _others(scenario) & {*NPM} else ())


def runtime_of(scenario: Scenario, requested: Runtime) -> Runtime:
    """The kernel's TCP and programs need no agent, so no container; codes that are not ours have none."""
    agentless = scenario.tcp is not None or scenario.program is not None or bool(_others(scenario))
    return "process" if agentless and requested == "docker" else requested


def _others(scenario: Scenario) -> set[str]:
    return set() if scenario.ncp is None else {*scenario.ncp.code.others.values()}


def plan_sessions(loaded: LoadedScenario, topology: Topology, policies: PolicyFacts, seed: int) -> list[model.Session]:
    """The plan's ``sessions``; raises :class:`BadInput` for an unknown policy."""
    scenario = loaded.scenario
    if scenario.tcp is not None:
        return [_tcp_session(scenario.tcp, scenario.each_session[0], topology)]
    if scenario.ndn is not None:
        return [ndn_plan.session_of(scenario.ndn, scenario.each_session[0], topology)]
    if scenario.program is not None:
        return program_plan.sessions_of(scenario.program, scenario.each_session, topology, seed)
    return sessions_of(loaded, topology, policies, seed)


def section_of(loaded: LoadedScenario, topology: Topology) -> Sections:
    """The plan's keys that only this traffic has: ``tcp``, as the scenario's section was understood; ``ndn``, with
    a node for each host; ``program``, with what stands for its files."""
    scenario = loaded.scenario
    if scenario.ndn is not None:
        return {"ndn": ndn_plan.section_of(scenario.ndn, topology)}
    if scenario.program is not None:
        return {"program": program_plan.section_of(scenario.program, loaded.path)}
    if scenario.tcp is None:
        return {}
    tcp: model.Tcp = scenario.tcp.model_dump(mode="json")  # type: ignore[assignment]  # as the plan's validation finds
    return {"tcp": tcp}


def _tcp_session(tcp: Tcp, entry: Session, topology: Topology) -> model.Session:
    path = topology.sessions[0][0]
    connection = connection_of(topology, path, 1, (tcp.sender_port, tcp.receiver_port))
    links = {link["name"]: link for link in topology.links}
    rtt_s = 2 * sum(links[name]["delay_ms"] for name in path.edges) / 1000
    # NCP's runs are distinguished by window policy, these by congestion control.
    policy: model.Policy = {"name": tcp.congestion_control, "rule": "the kernel's congestion control"}
    session = session_over(topology, entry, [path], policy, "tcp", [connection])
    session |= {
        "start_s": 0.0,
        "segment_bytes": program_plan.PAYLOAD_BYTES["tcp"],
        "sysctls": {"sender": tcp.sysctls_of("sender"), "receiver": tcp.sysctls_of("receiver")},
        "expected_s": round(tcp.expected_s(rtt_s, links[connection["link"]]["rate_bps"]), 3),
        "does": tcp.does(),
    }
    if (asked_bytes := tcp.transfer_bytes()) is not None:
        session["transfer_bytes"] = asked_bytes
    return session
