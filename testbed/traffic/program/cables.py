"""Two hosts with a cable for each link of a plan: addresses as in a run, and neither rates nor delays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from testbed.plan.model import Plan
from topologies.commands import in_namespace, run


class Cables:
    """A transfer's view of a network. The hosts' namespaces have the plan's ``namespace`` and their own name."""

    def __init__(self, plan: Plan, will_make: Callable[[str], object]) -> None:
        """Make the cables. ``will_make`` gets each namespace before it is made: whoever makes cables removes them."""
        self._names = {host["name"]: f"{plan['namespace']}-{host['name']}" for host in plan["hosts"]}
        for name in self._names.values():
            will_make(name)
            run(["ip", "netns", "add", name])
        for link in plan["links"]:
            a, b = link["a"], link["b"]
            one = [a["interface"], "netns", self._names[a["host"]]]
            other = [b["interface"], "netns", self._names[b["host"]]]
            run(["ip", "link", "add", *one, "type", "veth", "peer", "name", *other])
            for end in (a, b):
                path = self.namespaces()[end["host"]]
                run(
                    in_namespace(
                        path, ["ip", "addr", "add", f"{end['address']}/{end['prefix']}", "dev", end["interface"]]
                    )
                )
                run(in_namespace(path, ["ip", "link", "set", end["interface"], "up"]))

    def namespaces(self) -> Mapping[str, str]:
        """Path of each host's, by its name."""
        return {host: f"/run/netns/{name}" for host, name in self._names.items()}
