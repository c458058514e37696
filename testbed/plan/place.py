"""Assigns hosts of a topology, and link emulators, to machines.

Hosts go where there is least to send so far. Then hosts are moved or exchanged where that makes the links between
machines fewer or longer and no machine's share much larger: the underlay's delay is subtracted from a link's, so a long
link has room for it. A link's emulator is on a machine of one of its two ends, so that its frames cross the network
between machines once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from testbed.errors import refuse_unknown
from topologies.link import Link, rate_pps

HERE = ""
"""The machine that leads the run."""
FABRIC = "fabric"
"""The name of the link emulators' namespace among those of hosts."""
Way = tuple[str, str]
"""Two machines that frames go between, the one that leads the run or that is first by name first."""
LARGER = 1.1
"""The busiest machine may have so much more to send, for the sake of what is between the machines."""
SHORTEST_MS = 0.1
"""Links that are shorter are alike: none has room for another machine's way."""


def placed(
    file: str, hosts: Sequence[str], links: Sequence[Link], machines: Mapping[str, object], requested: Mapping[str, str]
) -> dict[str, str]:
    """The machine of each host: the one that is ``requested``, else by what it has to send (at the rates of its links)
    and how long the links are to hosts elsewhere; of equal machines the earlier.

    Raises:
        BadInput: ``requested`` (the scenario ``file``'s ``place``) names a host or a machine that does not exist.
    """
    for host, machine in requested.items():
        where = f"{file}: place.{host}"
        refuse_unknown("place.no-such-host", "sending or receiving host", host, hosts, where)
        refuse_unknown("place.no-such-machine", "inventory machine", machine, machines, where)
    sends = {host: float(sum(link["rate_bps"] for link in links if host in ends_of(link))) for host in hosts}
    found = dict(requested)
    load = {machine: sum(sends[host] for host, at in found.items() if at == machine) for machine in machines}
    free = sorted((host for host in hosts if host not in found), key=lambda host: -sends[host])
    for host in free:
        found[host] = min(load, key=lambda machine: load[machine])
        load[found[host]] += sends[host]
    _cut_where_it_is_long(found, free, links, sends, load)
    return {host: found[host] for host in hosts}


def _cut_where_it_is_long(
    found: dict[str, str],
    free: Sequence[str],
    links: Sequence[Link],
    sends: Mapping[str, float],
    load: dict[str, float],
) -> None:
    """Move and exchange ``free`` hosts while the cut becomes better, the best change first; none empties a machine."""
    own = {host: [link for link in links if host in ends_of(link)] for host in free}
    most = LARGER * max(load.values())
    while True:
        best: tuple[dict[str, str], dict[str, float]] | None = None
        gain = 1e-9  # less is rounding
        for change in _changes(found, free, load):
            after = dict(load)
            for host, machine in change.items():
                after[found[host]] -= sends[host]
                after[machine] += sends[host]
            if max(after.values()) > most:
                continue
            touched = {link["name"]: link for host in change for link in own[host]}.values()
            gained = _cut(touched, found) - _cut(touched, {**found, **change})
            if gained > gain:
                best, gain = (change, after), gained
        if best is None:
            return
        found |= best[0]
        load |= best[1]


def _changes(found: Mapping[str, str], free: Sequence[str], machines: Mapping[str, object]) -> Iterator[dict[str, str]]:
    at = list(found.values())
    for host in free:
        if at.count(found[host]) > 1:  # no machine is left empty
            yield from ({host: machine} for machine in machines if machine != found[host])
    for one, other in combinations(free, 2):
        if found[one] != found[other]:
            yield {one: found[other], other: found[one]}


def _cut(links: Iterable[Link], found: Mapping[str, str]) -> float:
    """The cost of these links between machines: the shorter a link, the more. Hosts that are not in ``found`` are on
    this machine."""
    return sum(
        1 / max(link["delay_ms"], SHORTEST_MS)
        for link in links
        if len({found.get(host, HERE) for host in ends_of(link)}) > 1
    )


def middles(links: Sequence[Link], place: Mapping[str, str]) -> dict[str, str]:
    """The machine of each link's middle that is not here: of its two ends' machines the one whose middles have fewer
    packets per second so far, links with most of them first; of equal ones that of the end ``a``."""
    load: dict[str, float] = {}
    found = {}
    for link in sorted(links, key=lambda link: -rate_pps(link)):
        machine = min(machines_of(link, place), key=lambda name: load.get(name, 0.0))
        load[machine] = load.get(machine, 0.0) + rate_pps(link)
        found[link["name"]] = machine
    return {link["name"]: found[link["name"]] for link in links if found[link["name"]] != HERE}


def machines_of(link: Link, place: Mapping[str, str]) -> tuple[str, str]:
    """The link's ends, a and b."""
    a, b = ends_of(link)
    return place.get(a, HERE), place.get(b, HERE)


def ways_below(link: Link, place: Mapping[str, str], middle: str) -> list[Way]:
    """The ways that the link's frames take from one end to the other, by that of its middle's machine."""
    return [way_between(end, middle) for end in machines_of(link, place) if end != middle]


def way_between(one: str, other: str) -> Way:
    """Whichever comes first."""
    return (one, other) if one < other else (other, one)


def in_words(way: Way) -> str:
    """The path in messages: ``to X`` from here, else ``between X and Y``."""
    return f"to {way[1]}" if way[0] == HERE else f"between {way[0]} and {way[1]}"


def ends_of(link: Link) -> tuple[str, str]:
    """The hosts or nodes at a link's ends."""
    return link["a"]["host"], link["b"]["host"]
