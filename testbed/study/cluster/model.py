"""The cluster's file, ``cluster/cluster.json`` in the machine's state: ``cluster up`` writes it, all others read it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from testbed.errors import BadInput, CannotRun

REAL_PACKETS = "real-packets"
"""Dask's resource of a worker that may make runs on real packets: one of it, as a host makes one run at a time."""
CORE = "core"
"""Dask's resource of which a worker has as many as it makes runs side by side."""


WORDS = {
    "containers": "real packets in containers",
    "processes": "real packets as processes",
    "vkernel": "guest",
    "sim": "simulator",
}
"""What a host may be able to make runs in, as people call it."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ssh(_Part):
    """How a host is reached for set-up; runs need none of it."""

    port: Annotated[int, Field(ge=1, le=65535)] = 22
    user: str = "root"
    key: Path | None = None


class Can(_Part):
    """What a host makes runs in; :data:`WORDS` has what each is called."""

    containers: bool
    processes: bool
    vkernel: bool
    sim: bool


class Host(_Part):
    """One machine. ``why_not`` says of each that it can't what it lacks."""

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
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CannotRun(
            "cluster.none",
            "there is no cluster: {path} does not exist",
            "Make one: ./run.sh cluster up INVENTORY (docs/cluster.md)",
            path=path,
        ) from None
    try:
        return Cluster.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the document"
        raise BadInput(
            "cluster.bad-state",
            "{path}: {key}: {value!r:.80} is not right: {error}",
            path=path,
            key=key,
            value=first["input"],
            error=first["msg"],
        ) from error


def write(cluster: Cluster) -> None:
    """The cluster's file, whole or not at all, readable by its owner alone."""
    path = file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    new.write_text(cluster.model_dump_json(by_alias=True, indent=1) + "\n", encoding="utf-8")
    new.rename(path)
