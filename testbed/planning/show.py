"""The plan in words, for ``--dry-run`` and ``show``."""

from testbed.judge.checks import planned
from testbed.plan.duration import expected_transfer_s
from testbed.plan.link_words import delay, events_in_words, impairments
from testbed.plan.model import Plan, Session
from testbed.plan.place import HERE, machines_of
from topologies.link import Link, rate_pps

MOST_EVENTS = 12
"""Events that are listed; a ramp alone stands for hundreds."""


def plan_text(plan: Plan) -> str:
    """A description of a run's network, traffic and checks, a line each."""
    pairs = [f"{session['sender_host']} → {session['receiver_host']}" for session in plan["sessions"]]
    lines = [
        f"{plan['scenario']}: {plan['title']}",
        *([f"  source     {plan['source']}"] if plan["source"] else []),
        f"  topology   {plan['topology']['name']}: {', '.join(pairs)}, "
        f"middle of the links by {plan['middle']}, agents by {plan['runtime']}",
    ]
    lines += [f"  link {link['index']:<5} {_link(plan, link)}" for link in plan["links"]]
    lines += [f"  place      {line}" for line in _placed(plan)]
    lines += [f"  session    {_session(plan, session)}" for session in plan["sessions"]]
    lines += [
        f"  beside     {flow['tool']} {flow['congestion_control']}, {flow['client_host']} → {flow['server_host']}, "
        f"from {flow['from_s']:g} s for {flow['for_s']:g} s"
        for flow in plan["cross_traffic"]
    ]
    lines += [
        f"  seed       {plan['seed']}",
        f"  time       about {expected_transfer_s(plan):.0f} s of transfer, given up after "
        f"{plan['limits']['transfer_s']:.0f} s",
    ]
    events = [f"at {a['at_s']:g} s {words}" for a, words in zip(plan["timeline"], events_in_words(plan), strict=True)]
    more = len(events) - MOST_EVENTS
    lines += [f"  timeline   {event}" for event in events[:MOST_EVENTS]]
    lines += [f"  timeline   … and {more} more, the last {events[-1]}"] if more > 0 else []
    for check in plan["checks"]:
        details = ", ".join(f"{k} {v}" for k, v in check.items() if k not in ("name", "judge") and v not in (None, []))
        lines.append(f"  check      {check['name']}: {check['judge']}" + (f" ({details})" if details else ""))
    if plan["overrides"]:
        lines.append(f"  changed    {', '.join(plan['overrides'])}")
    return "\n".join(lines)


def _placed(plan: Plan) -> list[str]:
    """The hosts of each machine, where some are on another than this one."""
    if not (place := plan.get("place")):
        return []
    names = [node["name"] for node in (*plan["hosts"], *plan["nodes"])]
    here = [name for name in names if name not in place]
    on = {machine: [host for host in names if place.get(host) == machine] for machine in place.values()}
    crossing = [link["name"] for link in plan["links"] if len(set(machines_of(link, place))) > 1]
    return [
        *(f"{', '.join(hosts)} on {machine}" for machine, hosts in on.items()),
        *([", ".join(here) + " here"] if here else []),
        f"between the machines: {', '.join(crossing) or 'no link'} (cut where the delay is long)",
        f"middles of links: {_middles(plan)} (balanced over the machines of their ends)",
    ]


def _middles(plan: Plan) -> str:
    """The machines with link emulators, and the links of each."""
    where: dict[str, list[Link]] = {}
    for link in plan["links"]:
        where.setdefault(plan.get("middles", {}).get(link["name"], HERE), []).append(link)
    return "; ".join(
        f"{', '.join(link['name'] for link in links)} {f'on {machine}' if machine else 'here'}, "
        f"{sum(rate_pps(link) for link in links):g} packets/s"
        for machine, links in sorted(where.items())
    )


def _link(plan: Plan, link: Link) -> str:
    # With its ends, where they are not the same for all links.
    ends = f" ({link['a']['host']}–{link['b']['host']})" if plan["nodes"] else ""
    mode = link["queue"]["mode"]
    where = "at the sender" if mode == "backpressure" else f"in the middle ({mode})"
    rate = f"{rate_pps(link):g} packets/s of {link['frame_bytes']} B ({link['rate_bps'] / 1e6:.3f} Mbit/s)"
    queue = f"{link['queue']['packets']} packets queued {where}"
    return f"{link['name']}{ends}: " + ", ".join([rate, f"{delay(link)} one-way", *impairments(link), queue])


def _session(plan: Plan, session: Session) -> str:
    if "in_words" in session:
        return str(session["in_words"])
    if "does" in session:
        return f"{session['sender_host']} {session['does']}, congestion control {session['policy']}"
    several = len(plan["sessions"]) > 1
    stated = session["initial_windows"]
    by = f" ({chosen})" if (chosen := session.get("congestion_control")) else ""
    windows = "/".join(f"{w:g}" for w in stated) if stated else session["policy_facts"]["initial"]
    return (
        (f"{session['name']} from {session['start_s']:g} s, " if several else "")
        + f"policy {session['policy']} over {session['transport'].upper()}{by}, "
        + f"{session['transfer_bytes'] / 2**20:g} MiB, MTU {session['mtu_bytes']} B, "
        f"send window {planned.session_window_packets(session):.10g} packets, windows start at {windows}"
        + "".join(
            f", the {role} offers {offer['send_window_bytes']} B and MTU {offer['mtu_bytes']} B"
            for role, offer in session.get("offers", {}).items()
        )
        + (f", connections: {len(session['connections'])}" if several else "")
    )
