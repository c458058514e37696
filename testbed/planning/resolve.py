"""Makes the plan of one run from a validated scenario and what was chosen on the command line."""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from testbed import confine
from testbed.errors import BadInput, refuse_unknown
from testbed.plan import model
from testbed.plan.codes import NPM, others
from testbed.plan.duration import at_full_rate_s
from testbed.plan.engines import DEFAULT
from testbed.plan.intervals import link_intervals
from testbed.plan.model import SCHEMA, Action, Middle, Plan, Runtime, Session, Traces
from testbed.plan.place import middles, placed
from testbed.plan.read import valid
from testbed.plan.traffic_types import traffic_of
from testbed.planning import traffic
from testbed.planning.resolved import Topology
from testbed.planning.sessions import PolicyFacts, cross_traffic_of
from testbed.planning.timeline import unfold
from testbed.planning.topology import resolve_topology
from testbed.scenario.load import LoadedScenario
from testbed.scenario.model import Scenario
from testbed.scenario.quick import variant_of
from topologies.link import FILES, Link, rate_pps
from topologies.link_files import why_unfit

DATABASE = "ncp_testbed"
TELEMETRY_INTERVAL_MS = 100
MANAGEMENT_URL = "http://198.19.0.1:8086"
"""InfluxDB as the agents see it: the gateway on the run's management network."""


ALL = "all"
"""Stand-in for the name of every link."""


@dataclass(frozen=True)
class Choices:
    """Choices on the command line beyond the scenario."""

    runtime: Runtime = "docker"
    middle: Middle = "relay"
    seed: int | None = None
    quick: bool = False
    occasion: str = "manual"
    """The trigger of the run, by which dashboards and alerts find nightly runs."""
    engine: str = DEFAULT
    """The plan's ``runtime`` and ``middle``: without a kernel ``virtual`` and ``model``, the session and link code
    itself."""
    traces: Traces | None = None
    """Traces of the run, with links by their names, or :data:`ALL`."""
    machines: Mapping[str, bool] | None = None
    """Machines that may have hosts, by name: whether each is another than this one. None: this one has all."""


def new_run_id() -> str:
    """Sorts by time and is unique on a machine: ``20261121-035200-3f9a`` (UTC)."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + "-" + secrets.token_hex(2)


def with_new_id(plan: Plan) -> Plan:
    """The same plan for another run of it."""
    run = new_run_id()
    return {**plan, "run": run, "namespace": _namespace(run)}


def _namespace(run: str) -> str:
    return "ncp-" + run.rsplit("-", 1)[-1]


def resolve(loaded: LoadedScenario, policies: PolicyFacts, choices: Choices, run: str) -> Plan:
    """The plan of a run (docs/contracts.md); raises :class:`BadInput` for an unknown policy.

    ``policies`` are the agent's own words about its window policies, by name.
    """
    scenario = loaded.scenario
    seed = scenario.seed if choices.seed is None else choices.seed
    topology = resolve_topology(scenario, loaded.path, seed, traffic.frame_bytes(scenario))
    _refuse_unfit_files(loaded, topology.links)
    sessions = traffic.plan_sessions(loaded, topology, policies, seed)
    names = {"session": [s["name"] for s in sessions], "link": [link["name"] for link in topology.links]}
    known = {*policies, *NPM, *(session["policy"] for session in sessions)}
    _refuse_checks_of_nothing(loaded, {**names, "policy": sorted(known)})
    timeline = _timeline(loaded, topology, len(sessions[0]["connections"]))
    limit_s = transfer_limit_s(scenario, sessions, topology.links, timeline)
    _refuse_events_after(limit_s, loaded)
    plan: Plan = {
        "schema": SCHEMA,
        "run": run,
        "scenario": scenario.name,
        "title": scenario.title,
        "source": scenario.source,
        "description": scenario.description.strip(),
        "seed": seed,
        "engine": choices.engine,
        "runtime": traffic.runtime_of(scenario, choices.runtime),
        "middle": choices.middle,
        "quick": choices.quick,
        "occasion": choices.occasion,
        "overrides": list(loaded.overrides),
        "variant": variant_of(changed=loaded.changed, quick=choices.quick),
        "topology": _topology(loaded),
        "traffic": scenario.traffic,
        "namespace": _namespace(run),
        "hosts": [
            {"name": name, "management_address": f"198.19.0.{10 + number}"}
            for number, name in enumerate(topology.layout.hosts, start=1)
        ],
        "nodes": [{"name": node.name, "forwards": node.forwards} for node in topology.layout.nodes],
        "links": topology.links,
        "routes": topology.layout.routes(),
        "timeline": timeline,
        "sessions": sessions,
        **traffic.section_of(loaded, topology),
        "cross_traffic": cross_traffic_of(scenario, topology),
        "telemetry": {"interval_ms": TELEMETRY_INTERVAL_MS, "url": MANAGEMENT_URL, "database": DATABASE},
        "checks": [check.model_dump(mode="json") for check in scenario.checks],
        "limits": cast(model.Limits, {**scenario.limits.model_dump(), "transfer_s": limit_s}),
    }
    if choices.traces:
        plan["traces"] = _traces(choices.traces, plan)
    if choices.machines is not None:
        ends = {host for session in sessions for host in (session["sender_host"], session["receiver_host"])}
        ends |= {host for flow in plan["cross_traffic"] for host in (flow["client_host"], flow["server_host"])}
        hosts = [node["name"] for node in (*plan["hosts"], *plan["nodes"]) if node["name"] in ends]
        where = placed(str(loaded.path), hosts, plan["links"], choices.machines, scenario.place)
        if far := {host: machine for host, machine in where.items() if choices.machines[machine]}:
            plan["place"] = far
            if there := middles(plan["links"], far):
                plan["middles"] = there
    return valid(plan, str(loaded.path))


def _refuse_unfit_files(loaded: LoadedScenario, links: Sequence[Link]) -> None:
    for link in links:
        for key in FILES:
            file, where = str(link.get(key, "")), f"links.{link['name']}.{key.removesuffix('_file')}"
            if file and (unfit := why_unfit(confine.file(Path(file), f"{loaded.path}: {where}"))):
                raise BadInput("link.bad-file", f"{loaded.place_of(*where.split('.'))}: {file}: {unfit}", field=where)


def _traces(requested: Traces, plan: Plan) -> Traces:
    """The traces with each link by its name, once, in the plan's order."""
    if requested["qlog"] and not traffic_of(plan).windows:
        raise BadInput(
            "run.qlog-without-ncp",
            f"--qlog: it records NCP's sessions, and {plan['scenario']} sends by {plan['traffic']}",
        )
    if requested["qlog"] and others(plan):
        raise BadInput("run.qlog-of-npm", "--qlog: only our own code records events; leave it out, or take --pcap all")
    names = [link["name"] for link in plan["links"]]
    for name in requested["pcap"]:
        refuse_unknown("run.pcap-no-such-link", "link", name, [*names, ALL], "--pcap")
    return {"qlog": requested["qlog"], "pcap": [name for name in names if {name, ALL} & set(requested["pcap"])]}


def _refuse_events_after(limit_s: float, loaded: LoadedScenario) -> None:
    for number, event in enumerate(loaded.scenario.timeline, start=1):
        if event.at_s > limit_s:
            where = loaded.place_of("timeline", f"{number}", "at")
            raise BadInput(
                "timeline.after-the-end",
                f"{where}: {event.at_s:g} s never comes: the transfer is given up after {limit_s:g} s; let it transfer "
                "more, or set limits.transfer_time",
                field=f"timeline.{number}.at",
            )


def _refuse_checks_of_nothing(loaded: LoadedScenario, known: Mapping[str, Sequence[str]]) -> None:
    """Refuses a misspelt name before the run, not by its verdict; ``known`` are those of each kind."""
    for check in loaded.scenario.checks:
        for key, names in check.model_dump(include={"policy", "session", "sessions", "late", "link"}).items():
            kind = key if key in known else "session"
            for name in [names] if isinstance(names, str) else names or []:
                where = loaded.place_of("checks", check.name, key)
                refuse_unknown("check.no-such-target", kind, name, known[kind], where)


def _topology(loaded: LoadedScenario) -> model.Topology:
    requested = loaded.scenario.topology
    if requested.file is None or requested.class_name is None:
        return {"name": requested.kind}
    file = str((loaded.path.parent / requested.file).resolve())
    return {"name": requested.kind, "file": file, "class": requested.class_name, "options": requested.options}


def _timeline(loaded: LoadedScenario, topology: Topology, connections: int) -> list[Action]:
    return unfold(loaded.scenario.timeline, topology.named, topology.hops, connections, loaded.place_of)


def transfer_limit_s(
    scenario: Scenario, sessions: Sequence[Session], links: Sequence[Link], timeline: Sequence[Action]
) -> float:
    """Seconds after which a transfer is given up, by the links' rates in the timeline, whether they are up or not."""
    if scenario.limits.transfer_s is not None:
        return scenario.limits.transfer_s
    beside_s = max((cross.from_s + cross.for_s for cross in scenario.cross_traffic), default=0.0)
    rates_pps = {
        link["name"]: [(each.from_s, rate_pps(each.link)) for each in link_intervals(link, timeline, "ab")]
        for link in links
    }
    full_rate_s = at_full_rate_s(sessions, rates_pps)
    return round(3 * full_rate_s + beside_s + 30, 1)
