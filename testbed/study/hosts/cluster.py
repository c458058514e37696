"""The cluster's file, ``cluster/cluster.json`` in the machine's state, and the status of its hosts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from testbed.documents import explain, write_json
from testbed.errors import BadInput, CannotRun
from testbed.scenario.section import Section

REAL_PACKETS = "real-packets"
"""Dask's resource for runs on real packets. A worker has one, as a host makes one such run at a time."""
CORE = "core"
"""Dask's resource for runs in parallel, one for each core of a worker."""
WORDS = {
    "containers": "real packets in containers",
    "processes": "real packets as processes",
    "vkernel": "guest",
    "sim": "simulator",
}
"""Words for the kinds of runs that a host may be able to make."""
DASK_CONFIG = Path(__file__).parent / "dask.yaml"
TIMEOUT_S = 5


class Ssh(Section):
    """Login to a host for set-up; runs need none of it."""

    port: Annotated[int, Field(ge=1, le=65535)] = 22
    user: str = "root"
    key: Path | None = None


class Can(Section):
    """Kinds of runs that a host can make (:data:`WORDS`)."""

    containers: bool
    processes: bool
    vkernel: bool
    sim: bool


class Host(Section):
    """A machine. ``why_not`` has the missing requirements of each ``can`` that is false."""

    name: Annotated[str, Field(min_length=1)]
    address: str
    ssh: Ssh = Ssh()
    cores: Annotated[int, Field(ge=1)]
    can: Can
    why_not: dict[str, str] = Field(default_factory=dict)


class Cluster(Section):
    """Scheduler and hosts. ``ca``, ``cert`` and ``key`` are files of this machine, in PEM."""

    schema_: Annotated[Literal[2], Field(alias="schema")] = 2
    commit: str
    scheduler: Annotated[str, Field(pattern=r"^tls://.+:\d+$")]
    ca: Path
    cert: Path
    key: Path
    hosts: Annotated[list[Host], Field(min_length=1)]

    def security(self) -> Any:
        """Dask's settings for TLS, among holders of a certificate of this cluster's authority."""
        from distributed import Security

        files = {"tls_ca_file": self.ca, "tls_client_cert": self.cert, "tls_client_key": self.key}
        return Security(require_encryption=True, **{name: str(path) for name, path in files.items()})


def file() -> Path:
    """The path of the cluster's file; ``NCP_TESTBED_STATE`` moves it."""
    return Path(os.environ.get("NCP_TESTBED_STATE", "/var/lib/ncp-testbed")) / "cluster" / "cluster.json"


def read() -> Cluster:
    """Reads this machine's cluster; raises CannotRun where there is none, BadInput for a file with errors."""
    path = file()
    try:
        return Cluster.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise CannotRun(
            "cluster.none",
            f"there is no cluster: {path} does not exist",
            "Make one: ./run.sh cluster up INVENTORY (docs/cluster.md)",
        ) from None
    except ValidationError as error:
        raise BadInput("cluster.bad-state", f"{path}: {explain(error)}") from error


def write(cluster: Cluster) -> None:
    """Write the cluster's file, whole or not at all, readable by its owner alone."""
    path = file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_json(path, cluster.model_dump(mode="json", by_alias=True))
    path.chmod(0o600)


def configure_dask() -> None:
    """Add ``dask.yaml`` to Dask's configuration of this process."""
    import dask

    dask.config.update(dask.config.config, dask.config.collect([str(DASK_CONFIG)], env={}))


def status(cluster: Cluster) -> tuple[str, bool]:
    """Returns a table with a line for each host (running and queued runs among its columns) and one for the scheduler,
    and whether all hosts are on."""
    from distributed import Client

    configure_dask()
    running: dict[str, tuple[str, str]] = {}
    last = f"scheduler {cluster.scheduler}, commit {cluster.commit[:12]}"
    try:
        with Client(cluster.scheduler, security=cluster.security(), timeout=TIMEOUT_S, set_as_default=False) as client:
            workers, held = client.scheduler_info(n_workers=-1)["workers"], client.processing()
    except OSError as error:  # or a timeout, which is a subclass
        workers, held, last = {}, {}, f"the scheduler {cluster.scheduler} does not answer: {error}"
    for address, worker in workers.items():
        executing = int(worker.get("metrics", {}).get("executing", 0))
        running[str(worker["name"])] = str(executing), str(max(len(held.get(address, ())) - executing, 0))
    lines = [("host", "address", "cores", "running", "queued", "can", "can't")]
    for host in cluster.hosts:
        can = ", ".join(WORDS[name] for name, able in host.can.model_dump().items() if able)
        why_not = "; ".join(f"{WORDS[name]}: {reason}" for name, reason in host.why_not.items())
        lines.append((host.name, host.address, str(host.cores), *running.get(host.name, ("off", "")), can, why_not))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*rows, last]), all(host.name in running for host in cluster.hosts)
