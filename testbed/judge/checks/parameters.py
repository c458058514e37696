"""Parameters that all checks have in common, and their types: in a scenario with units, in a plan plain numbers."""

from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from typing_extensions import Self

from testbed import series
from testbed.judge.checks import planned
from testbed.judge.checks.evidence import Evidence
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.status import Status
from testbed.message import InvalidValue, Message
from testbed.plan.model import Session
from topologies import units

RESOLVED = {"resolved": True}
"""The validation context for parameters that come from a plan, where durations are numbers of seconds."""


def _seconds(value: Any, info: ValidationInfo) -> float:
    resolved = bool(info.context and info.context.get("resolved"))
    if resolved and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return units.parse_duration_s(value)


Seconds = Annotated[
    float,
    Field(ge=0),
    BeforeValidator(_seconds),
    WithJsonSchema(
        {"type": ["string", "number"], "description": "a duration with its unit, or 0", "examples": ["1s", "500ms", 0]}
    ),
]
"""A duration: ``1s`` or ``500ms`` in a scenario, seconds in a plan."""


def _known_series(name: str) -> str:
    return series.named(name).name


SeriesName = Annotated[str, AfterValidator(_known_series)]
"""The name of a series of the catalogue."""


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


CheckName = Annotated[str, Field(pattern=r"^[^\\\x00-\x1f\x7f]{1,120}$")]
"""One line of text. It becomes a tag, and line protocol has no way to write a tag that ends in a backslash."""
ANY_TRAFFIC = ("ncp", "tcp", "ndn", "program")
WITH_SESSIONS = ("ncp", "program")
"""Sources of samples of single sessions and connections: the agents, or captures at the receivers."""


def _rounded(value: Any) -> Any:
    """The value with all fractions in it :func:`rounded`; whole numbers stay as they are."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(part) for part in value]
    return rounded(value) if isinstance(value, float) else value


def _key(name: str) -> str | AliasChoices:
    """Times are ``from`` and ``at_least`` in a scenario, ``from_s`` and ``at_least_s`` in a plan; connections: ``of``
    or ``connections``."""
    if name == "connections":
        return AliasChoices("of", name)
    return AliasChoices(name.removesuffix("_s"), name) if name.endswith("_s") else name


ALIASES = AliasGenerator(validation_alias=_key)


class CheckParameters(BaseModel, extra="forbid", frozen=True, allow_inf_nan=False, alias_generator=ALIASES):
    """A check: its name, the window policies that it is about, and what it asks.

    A claim of one policy (its convergence law, say) says nothing of another: with ``policy``, one name or several, the
    check is ``skipped`` in runs of others. Without it, the check is about all policies.
    """

    of_traffic: ClassVar[tuple[str, ...]] = ("ncp",)
    """Traffic that a run needs for the check to have data."""
    fact: ClassVar[bool] = False
    """Whether it is about a fact, not a number: it then has to hold in every run, whatever an interval says."""

    tells_figures: ClassVar[bool] = False
    """Whether its result's figures, numbers each, are the run's (``verdict.json``), for tables to be about."""

    together: ClassVar[tuple[tuple[str, ...], ...]] = (("from", "to"),)
    """Parameters of which all are given or none."""
    instead_of_a_span: ClassVar[str] = ""
    """The parameter that a check about one time has, where it has not from and to."""

    name: CheckName
    policy: Annotated[list[str], BeforeValidator(_one_or_more, json_schema_input_type=str | list[str])] = []
    judge: str
    """The check's name in scenarios: a literal in each class."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        """Parameters of checks about a span of time, or with bounds."""
        given = {key.removesuffix("_s"): getattr(self, key) is not None for key in type(self).model_fields}
        one_time = self.instead_of_a_span
        if one_time and (given["from"] != given["to"] or given["from"] == given[one_time]):
            raise InvalidValue("check.at-or-from", f"give either {one_time} (for example 5s) or both from and to")
        for keys in self.together:
            if len({given[key] for key in keys if key in given}) > 1:
                raise InvalidValue("check.not-all", f"give {', '.join(keys[:-1])} and {keys[-1]}, or none of them")
        from_s, to_s = getattr(self, "from_s", None), getattr(self, "to_s", None)
        if from_s is not None and to_s is not None and to_s <= from_s:
            raise InvalidValue("check.to-before-from", f"to ({to_s:g} s) has to be later than from ({from_s:g} s)")
        for least, most in (("min", "max"), ("min_rise", "max_rise")):
            low, high = getattr(self, least, None), getattr(self, most, None)
            if low is not None and high is not None and high < low:
                raise InvalidValue("check.max-below-min", f"{most} ({high:g}) has to be at least {least} ({low:g})")
        return self

    def in_words(self) -> str:
        """The check in words."""
        raise NotImplementedError

    def result(self, evidence: Evidence) -> CheckResult:
        """The check's result for a run; raises CannotJudge where something that it needs is missing."""
        raise NotImplementedError

    def conclude(
        self,
        holds: bool | Status,
        said: Message,
        *,
        measured: float | str | None = None,
        expected: float | str | None = None,
        tolerance: float | None = None,
        **figures: Any,
    ) -> CheckResult:
        """The result that a run gives, for the reason ``said``; ``holds`` may be a status. Fractions are rounded."""
        status = holds if isinstance(holds, Status) else Status.PASS if holds else Status.FAIL
        values = {"measured": _rounded(measured), "expected": expected, "tolerance": tolerance}
        return CheckResult.of(self.name, self.judge, status, said, figures=_rounded(figures), **values)

    def unfit(self, section: Any) -> str | None:
        """The reason why the check has no data in the traffic of the scenario's section; None if it has."""
        return None


class OfSession(CheckParameters):
    """A check of one session; without a name of the plan's only or first one."""

    session: str | None = None

    def result(self, evidence: Evidence) -> CheckResult:
        """The check's result for its session."""
        session = planned.session_of(evidence.plan, self.session)
        found = self.result_of(evidence, session)
        if self.session is None and len(evidence.plan["sessions"]) > 1:  # nobody is to take it for all of them
            return found.model_copy(update={"reason": f"Session {session['name']}: {found.reason}"})
        return found

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """The check's result for a session; raises CannotJudge where something that it needs is missing."""
        raise NotImplementedError


def _index_text(value: Any) -> Any:
    # A scenario writes [1, 2]; the tag's values are texts.
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


ConnectionIndex = Annotated[
    str, BeforeValidator(_index_text, json_schema_input_type=str | int), Field(pattern=r"^[0-9]+$")
]
"""A connection's index from 1, as its ``connection`` tags have it."""
