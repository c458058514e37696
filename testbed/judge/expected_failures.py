"""Expected failures: sentences of a source that are known not to reproduce, and what is measured in their place.

As in pytest, a check that fails as it is known to is an ``xfail``, which counts as a pass, and one that holds although
it is known to fail is an ``xpass``, which does not. An expected failure is bound to intervals, by engine, form and
place: a figure outside of them is a failure like any other. ``data/published/expected-failures.json`` lists them all;
it is made from the claims and the reference results (``tools/expected_failures.py``), never by hand.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, StringConstraints, ValidationError

from testbed import paths
from testbed.documents import explain, read_json
from testbed.errors import BadInput
from testbed.judge import intervals
from testbed.judge.intervals import Interval
from testbed.judge.status import Status, worst

Outcome = Literal["pass", "xfail", "xpass", "fail"]
"""The outcome of a check beside its status: whether it is as expected."""
Places = Mapping[str, tuple[float, Interval | None]]
"""The values that decide, by place (``row column``, a column, or ``measured`` where there is one value), and the
interval of each where there is one."""
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Limits = tuple[float, float]

FILE = paths.CHECKOUT / "data" / "published" / "expected-failures.json"
MEASURED = "measured"
"""The place of a check that has one value."""


class ExpectedFailure(BaseModel, extra="forbid", frozen=True):
    """An expected failure of a check: its cause, and the limits of its figures.

    ``claim`` is the sentence of a source, by its name in ``claims.yaml``; ``measured`` are the lowest and
    highest value by place, in the unit of what decides, both included. ``strict``: it fails every time.
    """

    claim: Text
    cause: Text
    strict: bool = True
    measured: dict[str, Limits] = {}

    def __str__(self) -> str:
        """``rtt-100 cubic 6.1 to 6.4``: what is measured."""
        if not self.measured:
            return "nothing was measured on this engine in this form"
        return ", ".join(f"{place} {low:.6g} to {high:.6g}" for place, (low, high) in self.measured.items())

    def where(self, places: Places) -> Status:
        """Whether the places lie where they are measured: ``pass`` where all do, ``fail`` where one does not or is not
        listed. The interval that judged a place decides where there is one."""
        if not places or not places.keys() <= self.measured.keys():
            return Status.FAIL
        return worst(intervals.against(*found, *self.measured[name]) for name, found in places.items())


class Listed(BaseModel, extra="forbid", frozen=True):
    """One entry of the file: an expected failure of the checks of a scenario or table."""

    run: Text
    """The scenario's or table's name."""
    cause: Text
    strict: bool
    checks: dict[str, dict[str, dict[str, dict[str, Limits]]]]
    """Limits by check (the claim's own name for a check that only the claim has), engine, form (``full``, ``quick``)
    and place."""

    def of(self, claim: str, check: str, engine: str, form: str) -> ExpectedFailure:
        """The expected failure of a check; without measured values, everything is outside its limits."""
        measured = self.checks[check].get(engine, {}).get(form, {})
        return ExpectedFailure(claim=claim, cause=self.cause, strict=self.strict, measured=measured)


class ExpectedFailures(BaseModel, extra="forbid", frozen=True):
    """The file, by claim."""

    about: str
    claims: dict[str, Listed]

    def of_run(self, run: str, engine: str, form: str) -> dict[str, ExpectedFailure]:
        """Expected failures of a scenario's or table's checks, by name. ``form`` is the variant of a run; one with
        changes is another set-up and has none."""
        if form == "changed":
            return {}
        return {
            check: listed.of(claim, check, engine, form)
            for claim, listed in self.claims.items()
            if listed.run == run
            for check in listed.checks
        }

    def of_claim(self, claim: str, engine: str, form: str, check: str | None = None) -> ExpectedFailure | None:
        """The expected failure of the check that decides a claim; None where the claim is expected to hold."""
        listed = self.claims.get(claim)
        return listed.of(claim, check or claim, engine, form) if listed and (check or claim) in listed.checks else None


@cache
def read(path: Path = FILE) -> ExpectedFailures:
    """The file; BadInput names the field that is wrong."""
    try:
        return ExpectedFailures.model_validate(read_json(path))
    except ValidationError as error:
        raise BadInput("expected-failures.bad-entry", f"{path}: {explain(error)}") from error


def counts(outcomes: Iterable[str]) -> str:
    """``8 pass, 2 xfail``, of the checks that were decided; "" without expected failures and unexpected passes."""
    found: Sequence[str] = list(outcomes)
    if not {"xfail", "xpass"} & set(found):
        return ""
    words: tuple[Outcome, ...] = ("pass", "xfail", "xpass", "fail")
    return ", ".join(f"{found.count(word)} {word}" for word in words if word in found)
