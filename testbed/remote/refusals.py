"""What a run with hosts on other machines can't carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from testbed.plan.model import Plan
from testbed.plan.place import HERE, Way, in_words, ways_below
from testbed.plan.traffic_types import sent_by

if TYPE_CHECKING:
    from testbed.judge.trust.underlay import Underlay


def refusals(plan: Plan) -> list[str]:
    """A line for each thing, known before a machine is asked; none if all can be carried, or all hosts are here."""
    place = plan.get("place", {})
    if not place:
        return []
    found = []
    if not sent_by(plan).windows:
        found.append(f"--hosts: {plan['traffic']} is sent between hosts of this machine only")
    if plan["runtime"] != "docker":
        found.append(f"--hosts: agents elsewhere are containers, and --runtime {plan['runtime']} has none")
    if plan["middle"] != "relay":
        found.append("--hosts: the middle of links to other machines is the relay; give --link relay")
    if plan.get("traces", {}).get("pcap"):
        found.append("--hosts: --pcap captures at hosts of this machine only")
    return found


def too_short(plan: Plan, underlays: Mapping[Way, Underlay]) -> list[str]:
    """Links, by name, that are shorter than what is under them; a line each."""
    place, found = plan.get("place", {}), []
    for link in plan["links"]:
        ways = ways_below(link, place, plan.get("middles", {}).get(link["name"], HERE))
        p99_ms = sum(underlays[way].one_way_p99_ms for way in ways)
        asked = [("delay", link["delay_ms"] - link.get("jitter_ms", 0.0))]
        asked += [
            (f"delay at {action['at_s']:g} s", action["properties"]["delay_ms"])
            for action in plan["timeline"]
            if action["kind"] == "set" and action["link"] == link["name"] and "delay_ms" in action["properties"]
        ]
        found += [
            f"link {link['name']}: {what} {least_ms:g} ms is shorter than the way {' and '.join(map(in_words, ways))} "
            f"below it, which takes up to {p99_ms:.2f} ms (p99)"
            for what, least_ms in asked
            if ways and least_ms < p99_ms
        ]
    return found
