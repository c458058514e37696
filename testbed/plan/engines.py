"""Facts of each engine, for all who read a plan or its results: a line each.

An engine's own file is ``testbed/engines/<name>/engine.py``, which only those import who make runs. The engine of a run
for a user who names none is chosen there (:func:`testbed.engines.default_for`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from testbed.errors import refuse_unknown
from topologies.impairments import keys_that

DEFAULT = "mininet"
"""Engine of ``table`` and ``all``, and of documents that name none."""
SWEEP = "sim"
"""The only engine of a sweep."""
COMPARE = SHAKE = "sim"
"""Engine of ``compare``, and of ``all --shake``."""
REPEATABLE = "vkernel"
"""The only engine of ``repeatable``, whose runs are repeated to be compared byte for byte."""
MODEL_OF_A_GUEST = "network-only model: one core, CPU free"


@dataclass(frozen=True)
class EngineFacts:
    """Facts of every run on an engine, whatever its scenario."""

    name: str
    title: str
    """The engine's name in tables and pages."""
    shows: str
    """The material of its runs, in two words."""
    model: str
    """The nature of a run on it, and its omissions."""
    virtual_time: bool = False
    """Whether its clock leaps over idle time: no machine is late, CPU is free, and neither root nor a database is
    needed."""
    kernel: bool = True
    """Packets go through a kernel's sockets and links, which are measured; else sessions and links are models."""

    @property
    def limits_processes(self) -> bool:
        """Whether a run's processes have limits of memory and files. A guest's memory is its own, and setting limits
        takes virtual time."""
        return not self.virtual_time


ENGINES: Mapping[str, EngineFacts] = {
    facts.name: facts
    for facts in (
        EngineFacts("mininet", "emulation", "real packets", "real packets, in real time"),
        EngineFacts(
            "vkernel",
            "guest kernel",
            "guest kernel",
            f"real packets in a Linux kernel of their own, in virtual time; {MODEL_OF_A_GUEST}",
            virtual_time=True,
        ),
        EngineFacts(
            "sim",
            "simulation",
            "virtual time",
            "NCP's own code over modelled links, in virtual time; what needs a kernel's TCP or sockets is not covered",
            virtual_time=True,
            kernel=False,
        ),
    )
}
"""Engines by name, in the order in which they are tried for a user who names none
(:func:`testbed.engines.default_for`)."""


def named(name: str) -> EngineFacts:
    """Raises :class:`BadInput` where there is no such engine."""
    refuse_unknown("engine.unknown", "engine", name, ENGINES)
    return ENGINES[name]


def engine_of(plan: Mapping[str, Any]) -> EngineFacts:
    """The engine of a plan, a table's document or that of all claims; earlier ones name none."""
    return named(str(plan.get("engine", DEFAULT)))


def is_exact(provenance: Mapping[str, Any]) -> bool:
    """Whether a run comes out the same whenever it is made, by what its folder records: of the simulator always, of a
    guest where it says that it is repeatable."""
    return "simulation" in provenance or bool(provenance.get("engine", {}).get("repeatable"))


def is_certain(plan: Mapping[str, Any]) -> bool:
    """Whether a plan's runs come out the same with every seed: in the simulator, where no link draws anything. In a
    guest, ports and the like follow from the seed as well."""
    changes = (action["properties"] for action in plan.get("timeline", ()) if action["kind"] == "set")
    drawn = [(key, of[key]) for of in (*plan["links"], *changes) for key in keys_that() if of.get(key)]
    return not engine_of(plan).kernel and all(key == "loss" and value == 1 for key, value in drawn)
