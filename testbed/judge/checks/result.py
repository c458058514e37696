"""The outcome of a run: one result per check, and the verdict over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, PrivateAttr, SerializerFunctionWrapHandler, model_serializer

from testbed.judge import older
from testbed.judge.expected_failures import MEASURED, ExpectedFailure, Outcome, Places, counts
from testbed.judge.intervals import Interval
from testbed.judge.status import Status, current
from testbed.message import Message

SCHEMA: Literal[2] = 2
"""Schema of ``verdict.json``: since 2 its statuses are those of :class:`Status`."""
SELECTED, NOT_SELECTED = "table.of-selection", "table.not-selected"
"""Codes of a check over a selection of a table's rows and columns, and of one that needs others."""
SEE = "the source's figures, docs/verdicts.md"
"""The note on expected failures at the end of a last line."""


class CheckResult(BaseModel, extra="forbid", frozen=True):
    """One check's outcome.

    ``measured``, ``expected`` and ``tolerance`` are numbers in the series' own unit, or short texts; ``reason`` is one
    or more sentences for a reader who has seen nothing else, ``code`` what programs know it by ("" in files without
    codes); ``figures`` are further numbers by name. ``inconclusive`` means that an interval over several runs lies only
    partly inside the limits, ``insufficient-data`` that the run holds too little data to decide. In a ``skipped`` check
    the policy is not the run's, or a table's rows or columns were not selected; an ``error`` says that something the
    check needs is missing or broken. Of a check over several runs, ``missing``, ``unsupported`` and ``untrusted`` say
    that one of them was.

    ``xfail`` is what is expected of a check that is known to fail, and ``outcome`` (``xfail``, ``xpass``, or ``fail``
    where it fails otherwise than expected) how it ended; results without an expected failure have neither.
    """

    name: str
    judge: str
    status: Status
    code: str = ""
    measured: float | int | str | None = None
    expected: float | int | str | None = None
    tolerance: float | None = None
    reason: str
    figures: dict[str, Any] = {}
    outcome: Outcome | None = None
    xfail: ExpectedFailure | None = None
    _said: Message = PrivateAttr()
    _failing: Places | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any, /) -> None:
        """The message; of a result that was read it has only code and text."""
        self._said = Message(self.code, self.reason)

    @model_serializer(mode="wrap")
    def _serialize(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = handler(self)
        return {key: value for key, value in found.items() if value is not None or key not in ("outcome", "xfail")}

    @classmethod
    def of(cls, name: str, judge: str, status: Status, said: Message, **values: Any) -> CheckResult:
        """The outcome of the check ``name``, of the function ``judge``, for the reason ``said``."""
        return cls(name=name, judge=judge, status=status, reason=str(said), **values).saying(said)

    def saying(self, said: Message, **update: Any) -> CheckResult:
        """The same result with another reason, and other values of what else is given."""
        result = self.model_copy(update={"code": said.code, "reason": str(said), **update})
        result._said = said
        return result

    @property
    def said(self) -> Message:
        """The reason, with its code and the values in it."""
        return self._said

    @property
    def word(self) -> Status | Literal["xfail", "xpass"]:
        """The outcome where it is not what the status says, else the status."""
        return self.outcome if self.outcome in ("xfail", "xpass") else self.status

    @property
    def part(self) -> Status:
        """The check's status as a part of the whole: an expected failure passes; an unexpected pass does not, unless it
        may."""
        if self.outcome == "xfail":
            return Status.PASS
        if self.outcome == "xpass":
            return Status.FAIL if self.xfail is None or self.xfail.strict else Status.PASS
        return self.status

    def failing_at(self, places: Places) -> CheckResult:
        """The same result of a check over several places, with the values of those that fail."""
        result = self.model_copy()
        result._failing = dict(places)
        return result

    @property
    def failing(self) -> Places:
        """The values that fail; by default the one that was measured. None of a result without a number."""
        if self._failing is not None:
            return self._failing
        if not isinstance(self.measured, (int, float)):
            return {}
        interval = self.figures.get("interval")
        return {MEASURED: (float(self.measured), Interval(*interval) if interval else None)}

    def expected_to_fail(self, expected: ExpectedFailure | None) -> CheckResult:
        """The same result beside what is expected of it: only a failure in a number, where all that fails lies within
        what is measured, is as expected. Partly within is ``inconclusive``."""
        if expected is None:
            return self
        if self.status not in (Status.PASS, Status.FAIL):
            return self.saying(self.said, xfail=expected)
        where = expected.where(self.failing)
        changed: dict[str, Any]
        if self.status == Status.PASS:
            changed = {"outcome": "xpass"}
            said = Message("expected-failure.passes", f"Holds, although it is known not to (claim {expected.claim}).")
        elif where == Status.PASS:
            changed = {"outcome": "xfail"}
            said = Message("expected-failure.fails", f"Fails as is known (claim {expected.claim}).")
        elif where == Status.INCONCLUSIVE:
            changed = {"status": where}
            said = Message(
                "expected-failure.partly",
                f"Known to fail (claim {expected.claim}), and only partly within what is measured: {expected}.",
            )
        else:
            changed = {"outcome": "fail"}
            said = Message(
                "expected-failure.outside", f"Known to fail (claim {expected.claim}), but not like this: {expected}."
            )
        return self.saying(said.followed_by(self.said), xfail=expected, **changed)


class Trust(BaseModel, frozen=True):
    """Whether the network and the machine were good enough for the run to prove anything, and if not, why."""

    trusted: bool
    reasons: list[str] = []
    codes: list[str] = []
    """Codes of the reasons, one each; empty in files without codes."""

    @classmethod
    def of(cls, said: Iterable[Message], *, trusted: bool = True) -> Trust:
        """``said`` are the reasons not to trust it: without any it is as ``trusted`` says."""
        reasons = tuple(said)
        codes = [reason.code for reason in reasons]
        return cls(trusted=trusted and not reasons, reasons=[str(reason) for reason in reasons], codes=codes)

    @property
    def said(self) -> tuple[Message, ...]:
        """The reasons with their codes."""
        codes = self.codes or [""] * len(self.reasons)
        return tuple(Message(code, text) for code, text in zip(codes, self.reasons, strict=False))

    def also(self, reasons: Sequence[Message]) -> Trust:
        """The same with these reasons as well, in place of those that it has with their codes."""
        if not reasons:
            return self
        codes = {reason.code for reason in reasons}
        others = [reason for reason in older.with_codes(self.said, reasons) if reason.code not in codes]
        return Trust.of([*others, *reasons])

    @property
    def parts(self) -> list[Status]:
        """Trust as a part of the whole. It alone proves nothing, so no part of it passes."""
        return [] if self.trusted else [Status.UNTRUSTED]


class Verdict(BaseModel, frozen=True):
    """``verdict.json``."""

    schema_version: Literal[2] = SCHEMA
    scenario: str
    run: str
    verdict: Status
    summary: str
    checks: list[CheckResult]
    trust: Trust
    duration_s: float | None
    policy: str
    broken: str | None = None
    """The reason why the run broke down before it could be judged; its checks are then all ``error``."""
    broken_code: str | None = None
    """The code of the error that broke it; results older than codes, and errors of the program's own, have none."""
    unsupported: bool = False
    """Whether it broke down because this machine lacks what it asks for."""
    figures: dict[str, float] = {}
    """The run's figures: flat, the unit in each name. Tables are made of them."""

    @property
    def expected(self) -> dict[str, ExpectedFailure]:
        """Expected failures of the checks, by name."""
        return {check.name: check.xfail for check in self.checks if check.xfail}

    @property
    def counts(self) -> str:
        """``8 pass, 2 xfail: the source's figures, docs/verdicts.md``, and before it how much of a table a selection
        is about; "" where nothing is otherwise than its status says."""
        counted = counts(check.outcome or check.status for check in self.checks)
        codes = [check.code for check in self.checks if check.judge != "selection"]
        apart = codes.count(NOT_SELECTED)
        said = [f"a selection: {len(codes) - apart} of {len(codes)} checks"] if apart or SELECTED in codes else []
        return "; ".join([*said, f"{counted}: {SEE}"] if counted else said)

    @property
    def stopped(self) -> bool:
        """Whether the user stopped the run."""
        return self.broken_code == "run.stopped"

    def to_json(self) -> dict[str, Any]:
        """The document of ``verdict.json``."""
        document = self.model_dump(mode="json", exclude=None if self.broken_code else {"broken_code"})
        return {"schema": document.pop("schema_version"), **document}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Verdict:
        """Reads the document of ``verdict.json``; pydantic's ValidationError if it is none."""
        document = current(document, SCHEMA) if "schema" in document else document
        verdict = cls.model_validate({**document, "schema_version": document.get("schema")})
        if verdict.broken and verdict.broken_code is None:
            verdict = verdict.model_copy(update={"broken_code": older.code_of(verdict.broken)})
        return verdict


def rounded(value: float) -> float:
    """Six significant decimals: enough for every figure here, and the same from every reader of the data."""
    return round(float(value), 6)
