"""``hosts.json`` in the folder of a study on real packets that a cluster made: what its hosts' links were, measured
before it, and so whether they may have made its runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from testbed.documents import write_json
from testbed.errors import BadInput
from testbed.lab.host_links import LIMITS, HostLinks
from testbed.message import Message

NAME = "hosts.json"


class Measured(BaseModel):
    """One measurement of a host, with what follows from it: ``figures``, and by what it was left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: Annotated[str, Field(min_length=1)]
    figures: dict[str, float | None]
    off: list[str]
    links: HostLinks
    sha256: str
    """Of host and links."""

    @classmethod
    def of(cls, host: str, links: HostLinks) -> Measured:
        """With what follows."""
        digest = hashlib.sha256(f"{host} {links.model_dump_json()}".encode()).hexdigest()
        return cls(host=host, figures=links.figures(), off=links.off(), links=links, sha256=digest)


class Hosts(BaseModel):
    """In the order that they were measured in: a host again where it came again, or the study went on later."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_: Annotated[Literal[1], Field(alias="schema")] = 1
    limits: dict[str, float]
    hosts: list[Measured]


def add(folder: Path, host: str, links: HostLinks) -> None:
    """A measurement, to those that are there."""
    every = Hosts(limits=LIMITS, hosts=[*read(folder).hosts, Measured.of(host, links)])
    write_json(folder / NAME, every.model_dump(by_alias=True))


def read(folder: Path) -> Hosts:
    """Without any where there is no file; raises :class:`BadInput` where it is not one of ours."""
    file = folder / NAME
    try:
        return Hosts.model_validate_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Hosts(limits=LIMITS, hosts=[])
    except (ValidationError, UnicodeDecodeError) as error:
        why = f"{error}"
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            why = f"{'.'.join(map(str, first['loc'])) or 'the document'}: {first['input']!r:.60}: {first['msg']}"
        raise BadInput(
            "cluster.bad-hosts-file",
            "{file}: {why}",
            "It is what {name} of a cluster's study is not: damaged, or another.",
            file=file,
            why=why,
            name=NAME,
        ) from error


def differences(folder: Path, outcomes: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    """Where what is told of the hosts does not follow from what was measured, and hosts that made runs (``host`` of
    ``outcomes``) though they were off, or were not measured; raises :class:`BadInput` where the file is damaged."""
    there, fit = read(folder), set()
    if there.limits != LIMITS:
        yield Message(
            "hosts.other-limits",
            "{file}: limits: {recorded} are recorded, {again} are those of this testbed",
            file=NAME,
            recorded=there.limits,
            again=LIMITS,
        )
    for number, one in enumerate(there.hosts):
        told, follows = one.model_dump(), Measured.of(one.host, one.links).model_dump()
        for key in ("figures", "off", "sha256"):
            if told[key] != follows[key]:
                yield Message(
                    "hosts.does-not-follow",
                    "{file}: hosts.{number}.{key}: {recorded} is recorded, {again} follows from the rest",
                    file=NAME,
                    number=number,
                    key=key,
                    recorded=told[key],
                    again=follows[key],
                )
        if not one.links.off():
            fit.add(one.host)
    for host in sorted({str(found["host"]) for found in outcomes if found.get("host")} - fit):
        yield Message(
            "hosts.not-measured",
            "{file}: {host} made runs, and no measurement there says that its links were fit for them",
            file=NAME,
            host=host,
        )
