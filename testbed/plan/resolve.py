"""Makes the plan of one run from a validated scenario and what was chosen on the command line."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import Any, Literal

from testbed.errors import BadInput
from testbed.plan.links import LinkPlan, ncp_frame_bytes, resolve_link
from testbed.plan.timeline import Action, NoSuchTarget, unfold
from testbed.scenario.load import LoadedScenario
from testbed.scenario.model import Scenario

FIRST_PORT = 30001
DATABASE = "ncp_testbed"
TELEMETRY_INTERVAL_MS = 100
MANAGEMENT_URL = "http://198.19.0.1:8086"
"""InfluxDB as the agents see it: the gateway on the run's management network."""

Plan = dict[str, Any]
PolicyFacts = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Choices:
    """What the command line decides beyond the scenario."""

    runtime: Literal["docker", "process"] = "docker"
    middle: Literal["netem", "relay"] = "relay"
    seed: int | None = None
    quick: bool = False


def new_run_id() -> str:
    """Sorts by time and is unique on a machine: ``20261121-035200-3f9a`` (UTC)."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + "-" + secrets.token_hex(2)


def resolve(loaded: LoadedScenario, policies: PolicyFacts, choices: Choices, run: str) -> Plan:
    """The plan of a run (docs/contracts.md); raises :class:`BadInput` for an unknown policy.

    ``policies`` are the agent's own words about its window policies, by name.
    """
    scenario = loaded.scenario
    seed = scenario.seed if choices.seed is None else choices.seed
    facts = _policy(scenario, policies, loaded)
    frame_bytes = ncp_frame_bytes(scenario.ncp.mtu_bytes)
    links = [
        resolve_link(
            index, link.name, "h1", "h2", link.rate,
            delay_ms=link.delay_ms, loss=link.loss, queue=link.queue.limit, queue_mode=link.queue.mode,
            frame_bytes=frame_bytes, seed=seed, impairments=link.impairments(loaded.path.parent),
        )
        for index, link in enumerate(scenario.links, start=1)
    ]  # fmt: skip
    return {
        "schema": 1,
        "run": run,
        "scenario": scenario.name,
        "title": scenario.title,
        "source": scenario.source,
        "description": scenario.description.strip(),
        "seed": seed,
        "engine": "mininet",
        "runtime": choices.runtime,
        "middle": choices.middle,
        "quick": choices.quick,
        "overrides": list(loaded.overrides),
        "topology": {"name": scenario.topology},
        "namespace": "ncp-" + run.rsplit("-", 1)[-1],
        "hosts": [
            {"name": name, "management_address": f"198.19.0.{10 + number}"}
            for number, name in enumerate(("h1", "h2"), start=1)
        ],
        "links": [link.as_json() for link in links],
        "timeline": _timeline(loaded, links),
        "sessions": [_session(scenario, links, facts, seed)],
        "telemetry": {"interval_ms": TELEMETRY_INTERVAL_MS, "url": MANAGEMENT_URL, "database": DATABASE},
        "checks": [check.model_dump(mode="json") for check in scenario.checks],
        "limits": scenario.limits.model_dump(mode="json") | {"transfer_s": transfer_limit_s(scenario, links)},
    }


def _timeline(loaded: LoadedScenario, links: list[LinkPlan]) -> list[Action]:
    try:
        return unfold(loaded.scenario.timeline, links)
    except NoSuchTarget as error:
        raise BadInput(f"{loaded.path}: {error}") from error


def expected_transfer_s(plan: Plan) -> float:
    """Seconds that the plan's largest transfer takes at the full rate of its links."""
    rate_pps = {link["name"]: float(link["rate_pps"] * (1 - link["loss"])) for link in plan["links"]}
    return max(
        float(session["transfer_bytes"] / session["mtu_bytes"])
        / sum(rate_pps[connection["link"]] for connection in session["connections"])
        for session in plan["sessions"]
    )


def transfer_limit_s(scenario: Scenario, links: list[LinkPlan]) -> float:
    """Seconds after which a transfer is given up."""
    if scenario.limits.transfer_s is not None:
        return scenario.limits.transfer_s
    packets = scenario.ncp.transfer_bytes / scenario.ncp.mtu_bytes
    return round(3 * packets / sum(link.rate_pps for link in links) + 30, 1)


def _policy(scenario: Scenario, policies: PolicyFacts, loaded: LoadedScenario) -> dict[str, Any]:
    name = scenario.ncp.policy
    if name not in policies:
        override = next((f"--set {o}" for o in loaded.overrides if o.startswith("ncp.policy=")), None)
        raise BadInput(
            f"{override or loaded.path}: ncp.policy: there is no policy {name!r}; "
            f"policies: {', '.join(sorted(policies))}"
        )
    return policies[name]


def _session(scenario: Scenario, links: list[LinkPlan], facts: dict[str, Any], seed: int) -> dict[str, Any]:
    ncp = scenario.ncp
    cap = facts.get("cap_packets")
    if cap and ncp.initial_windows and max(ncp.initial_windows) > cap:
        raise BadInput(
            f"ncp.initial_windows: {max(ncp.initial_windows)} packets is above the cap of policy {ncp.policy}; "
            f"it holds at most {cap} per connection"
        )
    return {
        "name": "s1",
        "sender_host": "h1",
        "receiver_host": "h2",
        "policy": ncp.policy,
        "policy_facts": facts,
        "transport": "udp",
        "transfer_bytes": ncp.transfer_bytes,
        "payload_seed": seed,
        "send_window_bytes": ncp.send_window_bytes,
        "mtu_bytes": ncp.mtu_bytes,
        "initial_windows": ncp.initial_windows,
        "ack_interval_ms": ncp.ack_interval_ms,
        "max_ack_ranges": ncp.max_ack_ranges,
        "timeout_check_ms": ncp.timeout_check_ms,
        "linger_ms": ncp.linger_ms,
        "connections": [
            {
                "index": link.index,
                "link": link.name,
                "send_buffer_packets": link.queue_packets,
                "sender": f"{link.a.address}:{FIRST_PORT + link.index - 1}",
                "receiver": f"{link.b.address}:{FIRST_PORT + link.index - 1}",
            }
            for link in links
        ],
    }
