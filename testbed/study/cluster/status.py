"""What a cluster's scheduler knows of the hosts."""

from __future__ import annotations

from dataclasses import dataclass

from distributed import Client

from testbed.study.cluster import settings
from testbed.study.cluster.model import WORDS, Cluster, Host
from testbed.study.cluster.tls import security

TIMEOUT_S = 5


@dataclass(frozen=True)
class Seen:
    """A worker: how many runs it is making, and how many more it was given."""

    running: int
    waiting: int


def look(cluster: Cluster) -> dict[str, Seen] | str:
    """Workers by the names of their hosts; or, in words, why the scheduler does not answer."""
    settings.apply()
    certificates = security(cluster.ca, cluster.cert, cluster.key)
    try:
        with Client(cluster.scheduler, security=certificates, timeout=TIMEOUT_S, set_as_default=False) as client:
            workers, held = client.scheduler_info(n_workers=-1)["workers"], client.processing()
    except OSError as error:  # a time limit that passed is one, too
        return f"the scheduler {cluster.scheduler} does not answer: {error}"
    seen = {}
    for address, worker in workers.items():
        running = int(worker.get("metrics", {}).get("executing", 0))
        seen[str(worker["name"])] = Seen(running, max(len(held.get(address, ())) - running, 0))
    return seen


def all_on(cluster: Cluster, seen: dict[str, Seen] | str) -> bool:
    """Whether every host's worker is known to the scheduler."""
    return not isinstance(seen, str) and all(host.name in seen for host in cluster.hosts)


def table(cluster: Cluster, seen: dict[str, Seen] | str) -> str:
    """A line for each host, and one for the scheduler."""
    lines = [("host", "address", "cores", "running", "waiting", "can", "can't")]
    for host in cluster.hosts:
        worker = None if isinstance(seen, str) else seen.get(host.name)
        runs, waiting = (str(worker.running), str(worker.waiting)) if worker else ("off", "")
        can = ", ".join(WORDS[name] for name, able in host.can.model_dump().items() if able)
        lines.append((host.name, host.address, str(host.cores), runs, waiting, can, _not(host)))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    rows = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    scheduler = seen if isinstance(seen, str) else f"scheduler {cluster.scheduler}, commit {cluster.commit[:12]}"
    return "\n".join([*rows, scheduler])


def _not(host: Host) -> str:
    return "; ".join(f"{WORDS[name]}: {reason}" for name, reason in host.why_not.items())
