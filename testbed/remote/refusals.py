"""Refuses plans that a run with hosts on other machines can't carry."""

from collections.abc import Mapping

from testbed.judge.trust.underlay import Underlay
from testbed.plan.model import Plan, packet_checks
from testbed.plan.place import HERE, Way, in_words, ways_below
from testbed.plan.traffic_types import sent_by


def refusals(plan: Plan) -> list[str]:
    """The reasons to refuse a plan, known before any machine is reached; none if all hosts are here."""
    if not plan.get("place"):
        return []
    found = {
        f"--hosts: {plan['traffic']} is sent between hosts of this machine only": not sent_by(plan).windows,
        f"--hosts: remote agents are containers, and --runtime {plan['runtime']} has none": plan["runtime"] != "docker",
        "--hosts: the relay emulates links to other machines; give --link relay": plan["middle"] != "relay",
        "--hosts: --pcap captures at hosts of this machine only": bool(plan.get("traces", {}).get("pcap")),
        "--hosts: protocol_kept is about packets at hosts of this machine only": bool(packet_checks(plan)),
    }
    return [line for line, refused in found.items() if refused]


def too_short(plan: Plan, underlays: Mapping[Way, Underlay]) -> list[str]:
    """Links that are shorter than the underlay below them, a line each."""
    place, found = plan.get("place", {}), []
    for link in plan["links"]:
        paths = ways_below(link, place, plan.get("middles", {}).get(link["name"], HERE))
        p99_ms = sum(underlays[path].one_way_p99_ms for path in paths)
        delays = [("delay", link["delay_ms"] - link.get("jitter_ms", 0.0))]
        delays += [
            (f"delay at {action['at_s']:g} s", action["properties"]["delay_ms"])
            for action in plan["timeline"]
            if action["kind"] == "set" and action["link"] == link["name"] and "delay_ms" in action["properties"]
        ]
        found += [
            f"link {link['name']}: {what} {least_ms:g} ms is shorter than the underlay path "
            f"{' and '.join(map(in_words, paths))} below it, which takes up to {p99_ms:.2f} ms (p99)"
            for what, least_ms in delays
            if paths and least_ms < p99_ms
        ]
    return found
