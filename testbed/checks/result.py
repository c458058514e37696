"""What judging gives: one result per check, and the verdict over all of them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from testbed.judge.algebra import Part, Word

Status = Part
"""A check's outcome, as the algebra of verdicts knows it."""


class CheckResult(BaseModel):
    """One check's outcome.

    ``measured``, ``expected`` and ``tolerance`` are numbers in the series' own unit, or short texts;
    ``reason`` is one or more sentences for a reader who has seen nothing else; ``figures`` are further
    numbers by name. ``undecided`` means that an interval over several runs lies only partly inside what is asked,
    ``not-covered`` means that the run holds too little data to decide, ``not-asked`` that the
    check is about other policies than the run's, ``error`` that something the check needs is missing or broken. Of a
    check over several runs, ``missing``, ``unsupported`` and ``untrusted`` say that one of them was.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    judge: str
    status: Status
    measured: float | int | str | None = None
    expected: float | int | str | None = None
    tolerance: float | None = None
    reason: str
    figures: dict[str, Any] = {}


class Trust(BaseModel):
    """Whether the network and the machine were good enough for the run to prove anything, and if not, why."""

    model_config = ConfigDict(frozen=True)

    trusted: bool
    reasons: list[str] = []

    @property
    def parts(self) -> list[Part]:
        """What it adds to a whole: trust alone proves nothing, so that it is no part that passes."""
        return [] if self.trusted else ["untrusted"]


class Verdict(BaseModel):
    """``verdict.json``."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    scenario: str
    run: str
    verdict: Word
    summary: str
    checks: list[CheckResult]
    trust: Trust
    duration_s: float | None
    policy: str
    broken: str | None = None
    """Why the run broke down before it could be judged; its checks are then all ``error``."""
    broken_code: str | None = None
    """The code of the error that broke it; results older than codes, and errors of the program's own, have none."""
    unsupported: bool = False
    """Whether it broke down because this machine lacks what it asks for."""
    figures: dict[str, float] = {}
    """What the run measured: flat, the unit in each name. Tables are made of them."""

    @property
    def stopped(self) -> bool:
        """Whether the user stopped the run."""
        if self.broken_code is None:  # a result older than codes
            return (self.broken or "").startswith("stopped by ")
        return self.broken_code == "run.stopped"

    def to_json(self) -> dict[str, Any]:
        """The document of ``verdict.json``."""
        document = self.model_dump(mode="json", exclude=None if self.broken_code else {"broken_code"})
        return {"schema": document.pop("schema_version"), **document}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Verdict:
        """Reads the document of ``verdict.json``; pydantic's ValidationError if it is none."""
        return cls.model_validate({**document, "schema_version": document.get("schema")})


def rounded(value: float) -> float:
    """Six significant decimals: enough for every figure here, and the same from every reader of the data."""
    return round(float(value), 6)
