"""Which host of a topology is on which machine. The middle of every link is on the machine that leads the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testbed.errors import BadInput
from topologies.link import Link


def placed(
    file: str, hosts: Sequence[str], links: Sequence[Link], machines: Mapping[str, object], asked: Mapping[str, str]
) -> dict[str, str]:
    """The machine of each host: the one that is ``asked`` for, else the one whose hosts have the least to send so far,
    those with most to send first; of equal machines the earlier. A host sends at the rates of its links.

    Raises:
        BadInput: ``asked`` (the scenario ``file``'s ``place``) names a host or a machine that there is not.
    """
    for host, machine in asked.items():
        if host not in hosts:
            raise BadInput(
                f"{file}: place.{host}: there is no host {host!r} with an agent; there are {', '.join(hosts)}"
            )
        if machine not in machines:
            raise BadInput(
                f"{file}: place.{host}: there is no machine {machine!r} in the inventory; there are "
                f"{', '.join(machines)}"
            )
    sends = {host: sum(link["rate_bps"] for link in links if host in _ends(link)) for host in hosts}
    found = dict(asked)
    load = {machine: sum(sends[host] for host, at in found.items() if at == machine) for machine in machines}
    for host in sorted((host for host in hosts if host not in found), key=lambda host: -sends[host]):
        found[host] = min(load, key=lambda machine: load[machine])
        load[found[host]] += sends[host]
    return {host: found[host] for host in hosts}


def far_ends(link: Link, place: Mapping[str, str]) -> list[str]:
    """The machines that a link's frames cross the underlay to, one for each end that is not here."""
    return [place[host] for host in _ends(link) if host in place]


def _ends(link: Link) -> tuple[str, str]:
    return link["a"]["host"], link["b"]["host"]
