"""Sessions over a topology: NCP's with their connections, and other traffic."""

from collections.abc import Sequence
from typing import Literal, cast

from testbed.errors import BadInput, refuse_unknown
from testbed.plan import model
from testbed.plan.codes import is_own
from testbed.plan.codes import policies as policies_of_npm
from testbed.plan.model import ROLES, Connection, Policy, Role
from testbed.planning.resolved import Topology
from testbed.scenario.load import LoadedScenario
from testbed.scenario.model import NcpSession, Scenario
from testbed.scenario.sessions import Session
from topologies.layout import Path
from topologies.link import rate_pps

FIRST_PORT = 30001

PolicyFacts = dict[str, Policy]
PARAMETERS = (
    *("transport", "congestion_control", "transfer_bytes", "send_window_bytes", "mtu_bytes", "initial_windows"),
    *("ack_interval_ms", "max_ack_ranges", "ack_repeats", "timeout_check_ms", "linger_ms"),
)
"""Keys of a session in the plan that are the scenario's; ``congestion_control`` is TCP's alone."""
OWN = ("policy", "transfer_bytes", "send_window_bytes", "initial_windows")
"""Parameters that an entry of ``sessions`` may have instead of those of ``ncp``."""


def sessions_of(loaded: LoadedScenario, topology: Topology, policies: PolicyFacts, seed: int) -> list[model.Session]:
    """The plan's sessions; raises :class:`BadInput` for an unknown policy."""
    requested = loaded.scenario.ncp
    assert requested is not None
    port = FIRST_PORT
    sessions: list[model.Session] = []
    for place, (entry, paths) in enumerate(zip(loaded.scenario.each_session, topology.sessions, strict=True)):
        facts = _policy(loaded, entry, requested, policies)
        own = {key: value for key in OWN if (value := getattr(entry, key)) is not None}
        ncp = requested.model_copy(update=own)
        own = {key: getattr(ncp, key) for key in PARAMETERS if key != "congestion_control" or ncp.transport == "tcp"}
        own |= {key: value for key, value in (("code", ncp.code.others), ("offers", _offers(loaded, ncp))) if value}
        # Not another session's bytes, which could be taken for its own.
        own["payload_seed"] = (seed + place) % 2**63
        session = session_over(topology, entry, paths, facts, ncp.transport, connections_of(topology, paths, port))
        sessions.append(cast(model.Session, {**session, **own}))
        port += len(paths)
    return sessions


def session_over(
    topology: Topology,
    entry: Session,
    paths: Sequence[Path],
    policy: Policy,
    transport: Literal["udp", "tcp"],
    connections: list[Connection],
) -> model.Session:
    """The keys that every session has; ``policy`` distinguishes runs, by its name."""
    return {
        "name": entry.name,
        "start_s": entry.start_s,
        "sender_host": paths[0].sender,
        "receiver_host": topology.layout.receiver(paths[0]),
        "policy": policy["name"],
        "policy_facts": policy,
        "transport": transport,
        "connections": connections,
    }


def cross_traffic_of(scenario: Scenario, topology: Topology) -> list[model.CrossTraffic]:
    """The plan's other traffic, numbered from 1."""
    found: list[model.CrossTraffic] = []
    flows = zip(scenario.cross_traffic, topology.cross_traffic, strict=True)
    for number, (requested, path) in enumerate(flows, start=1):
        client, server = topology.layout.ends(path)
        found.append(
            {
                "number": number,
                "tool": requested.tool,
                "congestion_control": requested.congestion_control,
                "client_host": path.sender,
                "server_host": topology.layout.receiver(path),
                "client": client,
                "server": server,
                "path": list(path.edges),
                "from_s": requested.from_s,
                "for_s": requested.for_s,
            }
        )
    return found


def _policy(loaded: LoadedScenario, entry: Session, ncp: NcpSession, policies: PolicyFacts) -> Policy:
    """The facts of a session's policy, or those of npm's package that sends, if the policy is what that is like. A
    user's own code at both ends may have a policy of its own."""
    name = entry.policy or ncp.policy
    where = loaded.place_of(*(("sessions", entry.name) if entry.policy else ("ncp",)), "policy")
    if all(is_own(code) for _, code in ncp.code):
        return policies.get(name, {"name": name, "rule": "its own code's"})
    refuse_unknown("scenario.no-such-policy", "policy", name, sorted(policies), where)
    facts = policies_of_npm().get(ncp.code.sender, policies[name])
    if (like := facts.get("like", name)) != name:
        raise BadInput(
            "scenario.policy-of-another-code",
            f"{where}: {name} is not how {facts['name']} moves its windows: they are like {like}; "
            f"set policy to {like}, or leave the code out",
            field="ncp.policy",
        )
    return facts


def _offers(loaded: LoadedScenario, ncp: NcpSession) -> dict[Role, model.Offer]:
    """The offers of ends that have one of their own; raises :class:`BadInput` where the smaller of both is not what
    the session has."""
    agreed = {key: getattr(ncp, key) for key in model.Offer.__annotations__}
    found = {role: agreed | offer.model_dump(exclude_none=True) for role, offer in ncp.offers if offer}
    for key, value in agreed.items():
        if (least := min(found.get(role, agreed)[key] for role in ROLES)) != value:
            name = key.removesuffix("_bytes")
            raise BadInput(
                "ncp.offers-agree-on-another",
                f"{loaded.place_of('ncp', 'offers')}: the ends would agree on the smaller {name} of both, {least} B, "
                f"and ncp.{name} is {value} B; make that the smaller offer",
                field="ncp.offers",
            )
    return cast(dict[Role, model.Offer], found)


def connections_of(topology: Topology, paths: Sequence[Path], first_port: int) -> list[Connection]:
    """A session's connections, one for each path; each has a port of its own at both ends."""
    return [connection_of(topology, path, n, (first_port + n - 1,) * 2) for n, path in enumerate(paths, start=1)]


def connection_of(topology: Topology, path: Path, number: int, ports: Sequence[int]) -> Connection:
    """A connection's entry in the plan; ``ports`` are the sender's and the receiver's."""
    crossed = [topology.links[topology.layout.index(name) - 1] for name in path.edges]
    sender, receiver = topology.layout.ends(path)
    return {
        "index": number,
        # The link that its rate is limited by: the least share among those that cross it, the first of equals.
        "link": min(crossed, key=lambda link: rate_pps(link) / topology.connections_over(link["name"]))["name"],
        "path": list(path.edges),
        "send_buffer_packets": crossed[0]["queue"]["packets"],
        "sender": f"{sender}:{ports[0]}",
        "receiver": f"{receiver}:{ports[1]}",
    }
