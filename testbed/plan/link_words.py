"""Properties of a link in words, for terminals and pictures alike."""

from collections.abc import Mapping
from typing import Any

from testbed.plan.model import Action, Plan
from topologies.impairments import NUMBERS
from topologies.impairments.impairment import SHARE
from topologies.link import Link, rate_pps


def bits_per_second(value: float) -> str:
    """``8.79 Mbit/s``."""
    for limit, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if abs(value) >= limit:
            return f"{value / limit:.4g} {unit}"
    return f"{value:.4g} bit/s"


def rate(link: Link, unit: str = " packets/s") -> str:
    """The rate as the scenario has it: in full-size packets or in bits, whichever of the two is the round number."""
    if link.get("trace_file"):
        return "rate by a trace"
    pps = rate_pps(link)
    return f"{pps:g}{unit}" if pps == round(pps, 2) else bits_per_second(link["rate_bps"])


def delay(link: Link) -> str:
    """One way."""
    return f"{link['delay_ms']:g} ms"


def impairments(link: Link) -> list[str]:
    """The link's other impairments of packets."""
    found = [_property("loss", link["loss"])] if link["loss"] else []
    if bursts := link.get("gilbert_elliott"):
        found.append(_property("gilbert_elliott", bursts))
    if jitter_ms := link.get("jitter_ms"):
        found.append(_property("jitter_ms", jitter_ms))
    elif "jitter_file" in link:
        found.append("jitter by a file")
    return found + [_property(key, value) for key in NUMBERS if (value := link.get(key))]


def events_in_words(plan: Plan) -> list[str]:
    """Words for what each event of the timeline does: ``a: 4 Mbit/s, delay 20 ms``, ``a down``; rates in the unit that
    the link's has."""
    links = {link["name"]: link for link in plan["links"]}
    return [_done(action, links) for action in plan["timeline"]]


def _done(action: Action, links: Mapping[str, Link]) -> str:
    if action["kind"] == "pause_read":
        return action["text"]
    if action["kind"] == "carrier":
        return f"{action['link']} {'up' if action['up'] else 'down'}"
    way, done = "" if action["direction"] == "both" else f" {action['direction']}", action["properties"]
    first = [rate({**links[action["link"]], "rate_bps": done["rate_bps"]})] if "rate_bps" in done else []
    others = (_property(key, value) for key, value in done.items() if key != "rate_bps")
    return f"{action['link']}{way}: {', '.join([*first, *others])}"


def _property(key: str, value: Any) -> str:
    if key == "gilbert_elliott":
        return f"bursts of loss {_percent(value['enter'])}/{_percent(value['leave'])}"
    if key.endswith("_ms"):
        return f"{key.removesuffix('_ms')} {value:g} ms"
    return f"{key} {_percent(value) if key == 'loss' or NUMBERS[key].written is SHARE else value}"


def _percent(share: float) -> str:
    return f"{share * 100:g}%"
