"""A plan's network as containerlab's ``.clab.yml``, with what its links do as ``containerlab tools netem`` commands.

containerlab's file has no place for them; they stand in its first lines, to be run after ``containerlab deploy``.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count

from testbed.plan.model import Plan
from topologies.impairments import KEYS
from topologies.link import Link, shaped_at_hosts

IMAGE = "ghcr.io/srl-labs/network-multitool:latest"
CARRIED = {"corrupt", "jitter", "jitter_ms"}


def to_clab(plan: Plan) -> tuple[str, list[str]]:
    """The file's text, and a line for each thing that it does not hold."""
    lost = _lost(plan)
    interfaces: dict[tuple[str, str], str] = {}
    numbers: dict[str, Iterator[int]] = defaultdict(lambda: count(1))  # eth0 is containerlab's own
    for link in plan["links"]:
        for host in (link["a"]["host"], link["b"]["host"]):
            interfaces[host, link["name"]] = f"eth{next(numbers[host])}"
    lines = [f"# {plan['scenario']}: {' '.join(plan['title'].split())}", "# After containerlab deploy, for the links:"]
    for link in plan["links"]:
        for host in (link["a"]["host"], link["b"]["host"]):
            at = f"-n clab-{plan['scenario']}-{host} -i {interfaces[host, link['name']]}"
            lines.append(f"# containerlab tools netem set {at} {' '.join(_options(link))}")
    lines += ["# Not in here:", *(f"#   {text}" for text in lost)]
    lines += [f"name: {plan['scenario']}", "topology:", "  nodes:"]
    for host in [each["name"] for each in plan["hosts"]] + [each["name"] for each in plan["nodes"]]:
        lines += [f"    {host}:", "      kind: linux", f"      image: {IMAGE}", "      exec:"]
        lines += [f"        - {command}" for command in _commands(plan, host, interfaces)]
    lines.append("  links:")
    for link in plan["links"]:
        a, b = (f"{end['host']}:{interfaces[end['host'], link['name']]}" for end in (link["a"], link["b"]))
        lines.append(f'    - {{endpoints: ["{a}", "{b}"], vars: {{name: {link["name"]}}}}}')
    return "\n".join(lines) + "\n", lost


def _options(link: Link) -> Sequence[str]:
    """netem's, at each end's egress: one way of the link each. A rate is in whole kbit/s there."""
    options = [f"--delay {link['delay_ms']:g}ms", f"--rate {max(1, round(link['rate_bps'] / 1000))}"]
    if jitter_ms := link.get("jitter_ms"):
        options.append(f"--jitter {jitter_ms:g}ms")
    if link["loss"]:
        options.append(f"--loss {link['loss'] * 100:g}")
    if corrupt := link.get("corrupt"):
        options.append(f"--corruption {corrupt * 100:g}")
    return options


def _commands(plan: Plan, host: str, interfaces: dict[tuple[str, str], str]) -> list[str]:
    """Addresses and routes, as the testbed gives them."""
    commands = []
    for link in plan["links"]:
        for end in (link["a"], link["b"]):
            if end["host"] == host:
                commands.append(f"ip addr add {end['address']}/{end['prefix']} dev {interfaces[host, link['name']]}")
    commands += [f"ip route add {x['to']} via {x['via']}" for x in plan["routes"] if x["host"] == host]
    if any(node["name"] == host and node["forwards"] for node in plan["nodes"]):
        commands.append("sysctl -w net.ipv4.ip_forward=1")
    return commands


def _lost(plan: Plan) -> list[str]:
    lost = [f"what is sent ({plan['traffic']}) and what has to hold (checks)"]
    lost += ["cross traffic"] if plan["cross_traffic"] else []
    lost += ["the timeline"] if plan["timeline"] else []
    for link in plan["links"]:
        where, queue = f"link {link['name']}", link["queue"]
        if link["rate_bps"] % 1000:
            lost.append(f"{where}: its exact rate, {link['rate_bps']} bit/s; netem's is in kbit/s")
        if not shaped_at_hosts(link):
            lost.append(f"{where}: its queue, {queue['mode']} of {queue['packets']} packets")
        if more := sorted(key for key in (*KEYS, "trace_file") if link.get(key) and key not in CARRIED):
            lost.append(f"{where}: {', '.join(more)}")
    return lost
