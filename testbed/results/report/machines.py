"""The machines with hosts of a run: the way there, and what is known of their clocks."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.errors import BadInput
from testbed.results.report.folder import ResultFolder


@dataclass(frozen=True)
class MachineRow:
    """One machine, as texts."""

    machine: str
    hosts: str
    middles: str
    """The links whose middles are there."""
    way: str
    """The path to the machine that led the run; ``others``: paths to machines with other ends of its links."""
    others: str
    way_bound: str
    way_p99: str
    clock: str
    clock_bound: str
    mtu: str


def machine_rows(folder: ResultFolder) -> list[MachineRow]:
    """A row for each of provenance's ``machines``; BadInput if one lacks a figure."""
    try:
        return [
            MachineRow(
                machine=str(facts["machine"]),
                hosts=", ".join(facts["hosts"]),
                middles=", ".join(facts.get("middles", [])),
                others=", ".join(f"{way['machine']} {way['one_way_ms']:.2f} ms" for way in facts.get("ways", [])),
                way=f"{facts['one_way_ms']:.2f} ms",
                way_bound=f"±{facts['asymmetry_ms']:.2f} ms either way",
                way_p99=f"{facts['one_way_p99_ms']:.2f} ms",
                clock=f"{facts['ahead_ns'] / 1e6:+.2f} ms",
                clock_bound=f"±{facts['clock_uncertainty_ms']:.2f} ms" if "clock_uncertainty_ms" in facts else "",
                mtu=f"{facts['link_mtu_bytes']} B",
            )
            for facts in folder.provenance.get("machines", [])
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            "report.bad-machines", "{path}: machines: {error}", path=folder.path / "provenance.json", error=error
        ) from error
