"""The cluster's file, ``cluster/cluster.json`` in the machine's state, and what its scheduler says of the hosts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from testbed.documents import explain
from testbed.errors import BadInput, CannotRun

if TYPE_CHECKING:
    from distributed import Security

REAL_PACKETS = "real-packets"
"""Dask's resource of a worker that makes runs on real packets: one, as a host makes one such run at a time."""
CORE = "core"
"""Dask's resource of which a worker has as many as it makes runs side by side."""
WORDS = {
    "containers": "real packets in containers",
    "processes": "real packets as processes",
    "vkernel": "guest",
    "sim": "simulator",
}
"""What a host may be able to make runs in, as people call it."""
DASK_CONFIG = Path(__file__).parent / "dask.yaml"
TIMEOUT_S = 5


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ssh(_Part):
    """How set-up reaches a host; runs need none of it."""

    port: Annotated[int, Field(ge=1, le=65535)] = 22
    user: str = "root"
    key: Path | None = None


class Can(_Part):
    """What a host makes runs in (:data:`WORDS`)."""

    containers: bool
    processes: bool
    vkernel: bool
    sim: bool


class Host(_Part):
    """One machine. ``why_not`` has what it lacks for each of ``can`` that is false."""

    name: Annotated[str, Field(min_length=1)]
    address: str
    ssh: Ssh = Ssh()
    cores: Annotated[int, Field(ge=1)]
    can: Can
    why_not: dict[str, str] = {}


class Cluster(_Part):
    """A scheduler and its hosts. ``ca``, ``cert`` and ``key`` are files of this machine, in PEM."""

    schema_: Annotated[Literal[2], Field(alias="schema")] = 2
    commit: str
    scheduler: Annotated[str, Field(pattern=r"^tls://.+:\d+$")]
    ca: Path
    cert: Path
    key: Path
    hosts: Annotated[list[Host], Field(min_length=1)]

    def security(self) -> Security:
        """TLS alone, among holders of a certificate of this cluster's authority."""
        from distributed import Security

        files = {"tls_ca_file": self.ca, "tls_client_cert": self.cert, "tls_client_key": self.key}
        return Security(require_encryption=True, **{name: str(path) for name, path in files.items()})


def file() -> Path:
    """Where the cluster's file is; ``NCP_TESTBED_STATE`` moves it."""
    return Path(os.environ.get("NCP_TESTBED_STATE", "/var/lib/ncp-testbed")) / "cluster" / "cluster.json"


def read() -> Cluster:
    """This machine's cluster.

    Raises:
        CannotRun: there is none.
        BadInput: the file is not one; names key, value and what would be right.
    """
    path = file()
    try:
        return Cluster.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise CannotRun(
            "cluster.none",
            "there is no cluster: {path} does not exist",
            "Make one: ./run.sh cluster up INVENTORY (docs/cluster.md)",
            path=path,
        ) from None
    except ValidationError as error:
        raise BadInput("cluster.bad-state", "{path}: {why}", path=path, why=explain(error)) from error


def write(cluster: Cluster) -> None:
    """Write the cluster's file, whole or not at all, readable by its owner alone."""
    path = file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    new.write_text(cluster.model_dump_json(by_alias=True, indent=1) + "\n", encoding="utf-8")
    new.rename(path)


def configure_dask() -> None:
    """Add ``dask.yaml`` to Dask's configuration of this process."""
    import dask

    dask.config.update(dask.config.config, dask.config.collect([str(DASK_CONFIG)], env={}))


def status(cluster: Cluster) -> tuple[str, bool]:
    """A line for each host, with its runs in progress and those that are queued there, and one for the scheduler; and
    whether all are on."""
    from distributed import Client

    configure_dask()
    running: dict[str, tuple[str, str]] = {}
    last = f"scheduler {cluster.scheduler}, commit {cluster.commit[:12]}"
    try:
        with Client(cluster.scheduler, security=cluster.security(), timeout=TIMEOUT_S, set_as_default=False) as client:
            workers, held = client.scheduler_info(n_workers=-1)["workers"], client.processing()
    except OSError as error:  # a timeout is one, too
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
