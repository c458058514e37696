"""Engines that were compared: whether they agree within what is allowed, ``cross-check.json`` and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from testbed.documents import entry_of
from testbed.judge.status import Status, verdict_of
from testbed.results.report.page_templates import on_page
from testbed.results.report.plot import Plot
from testbed.study.compare import result
from testbed.study.compare.allowance import Deviation


class AgreementEntry(TypedDict):
    """A scenario or table in ``cross-check.json``."""

    scenario: str
    verdict: Status
    untrusted: list[str]
    broken: str
    runs: dict[str, str]
    runs_own: dict[str, Status]
    differences: list[Annotated[dict[str, Any], entry_of(Deviation, same=bool, off=float | None)]]


class CrossCheck(TypedDict):
    """``cross-check.json``."""

    schema: Literal[1]
    scenarios: list[AgreementEntry]
    refused: dict[str, str]
    """Why an engine can't carry a scenario."""


@dataclass(frozen=True)
class Agreement:
    """One scenario or table on several engines. ``runs`` are the result folders by engine, ``untrusted`` the reasons
    why the emulated one can't be trusted, ``broken`` why there is nothing to compare."""

    scenario: str
    title: str
    runs: Mapping[str, Path]
    differences: Sequence[Deviation] = ()
    plots: Sequence[Plot] = ()
    untrusted: Sequence[str] = ()
    broken: str = ""
    runs_own: Mapping[str, Status] = field(default_factory=dict)
    """By engine what its runs are worth: two that fail in the same fact are alike, and prove nothing."""

    @property
    def parts(self) -> dict[str, Status]:
        """What it all is made of, by name."""
        found: dict[str, Status] = {d.text: Status.PASS if d.same else Status.FAIL for d in self.differences}
        found |= {f"{engine}: its own runs": standing for engine, standing in self.runs_own.items()}
        if self.broken or not self.differences:
            found["a comparison"] = Status.ERROR if self.broken else Status.MISSING
        if self.untrusted:
            found["trust"] = Status.UNTRUSTED
        return found

    @property
    def verdict(self) -> Status:
        """``pass``, ``fail`` or ``untrusted``."""
        return verdict_of(self.parts.values())

    def lines(self) -> list[str]:
        """What came out, for the terminal."""
        told = [("same" if difference.same else "differs", difference.text) for difference in self.differences]
        told += [(word, f"{engine}: its own runs") for engine, word in self.runs_own.items() if word != Status.PASS]
        told += [(Status.UNTRUSTED, reason) for reason in self.untrusted]
        told += [("broken", self.broken)] if self.broken else []
        return [f"{self.scenario}: {self.verdict}", *(f"  {word:<11} {text}" for word, text in told)]

    def as_json(self) -> AgreementEntry:
        """For ``cross-check.json``."""
        return {
            "scenario": self.scenario,
            "verdict": self.verdict,
            "untrusted": list(self.untrusted),
            "broken": self.broken,
            "runs": {engine: folder.name for engine, folder in self.runs.items()},
            "runs_own": dict(self.runs_own),
            "differences": [difference.as_json() for difference in self.differences],
        }


def verdict_over(found: Sequence[Agreement]) -> Status:
    """Of all scenarios and tables."""
    return verdict_of([entry.verdict for entry in found])


def write(folder: Path, found: Sequence[Agreement], refused: Mapping[str, str]) -> Path:
    """Write it all; ``refused`` says of scenarios why an engine can't carry them. Returns the page."""
    document: CrossCheck = {"schema": 1, "scenarios": [entry.as_json() for entry in found], "refused": dict(refused)}
    return result.write(
        folder,
        "cross-check",
        document,
        [plot for entry in found for plot in entry.plots],
        verdict=verdict_over(found),
        run=folder.name,
        engines=" and ".join(dict.fromkeys(engine for entry in found for engine in entry.runs)),
        compared=found,
        refused=refused,
        on_page=on_page,
    )
