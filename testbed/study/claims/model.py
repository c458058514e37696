"""What ``data/published/claims.yaml`` may say: sources, runs, and which check of which run decides a claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, TypeAdapter, model_validator

from testbed.message import InvalidValue
from testbed.plan.engines import named
from testbed.scenario.section import Name, Section
from testbed.study.claims.setups import Difference, Setup
from testbed.study.tables.model import TableCheck

ClaimId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{2,63}$")]

TABLE_CHECK: TypeAdapter[TableCheck] = TypeAdapter(TableCheck)


class Source(Section):
    """Who claims it."""

    title: str
    by: str
    where: str
    """An address, or where it was printed."""


class Options(Section):
    """What a run is made with, as on the command line."""

    set: list[str] = Field(default_factory=list)
    rows: list[str] = Field(default_factory=list)
    columns: list[str] = Field(default_factory=list)
    repeat: int | None = Field(None, ge=1, le=99)


class QuickRun(Options):
    """What ``--quick`` makes of a run: the file's own ``quick`` section, and these in place of the full ones."""

    minutes: float = Field(gt=0)
    whole: bool = False
    """The full run even so: it is short, or says nothing when it is shorter."""
    leave_out: str = ""
    """Why there is no quick form; the claims of this run are then left open."""


class RunSpec(Options):
    """One run of a scenario, table or sweep; however many claims it serves, it is made once."""

    run: str
    """The scenario's, table's or sweep's name."""
    minutes: float = Field(gt=0)
    """What a full one takes on two cores, reckoned from measured parts."""
    sim_minutes: float = Field(0.2, gt=0)
    """The same in virtual time, or what it takes to be refused there."""
    sim_repeat: int | None = Field(None, ge=1, le=99)
    """How often in the simulator, where more runs than on real packets cost little."""
    disk_mb: float = Field(gt=0)
    quick: QuickRun

    def options(self, engine: str, *, quick: bool) -> Options:
        """Those that apply; a quick run's own have the last word."""
        if not self.shorter(quick=quick):
            return self.model_copy(
                update={"repeat": self.sim_repeat if self.sim_repeat and not named(engine).kernel else self.repeat}
            )
        return Options(
            set=[*self.set, *self.quick.set],
            rows=self.quick.rows or self.rows,
            columns=self.quick.columns or self.columns,
            repeat=self.quick.repeat or 1,
        )

    def shorter(self, *, quick: bool) -> bool:
        """Whether the quick form is made."""
        return quick and not self.quick.whole

    def expected_minutes(self, engine: str, *, quick: bool) -> float:
        """For the time left."""
        if not named(engine).kernel:
            return min(self.sim_minutes, self.quick.minutes) if quick else self.sim_minutes
        return self.quick.minutes if quick else self.minutes


class Xfail(Section):
    """That a sentence is known not to hold; where its figures then lie is in ``expected-failures.json`` beside."""

    cause: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    strict: bool = True
    """Whether it fails every time."""
    also: list[str] = Field(default_factory=list)
    """Further checks of the run, by name, that are of the same sentence and fail with it."""


OF_A_SOURCE = ("claim", "changed")
"""The kinds of claims that are sentences of a source."""


class Claim(Section):
    """One sentence of a source (or about it), and the check that decides it."""

    source: Name
    kind: Literal["claim", "changed", "correction", "beyond", "measurement"]
    """``claim``: the source says so, and it is decided in its own set-up. ``changed``: the same in another set-up,
    ``beside`` the one that is decided in the source's. ``correction``: the source is wrong, and this is what holds.
    ``beyond``: it goes further than the source. ``measurement``: it goes further and promises nothing, so that it is
    reported beside what it is compared with, and counts neither way."""
    text: str
    setup: Name
    """One of ``setups``."""
    differs: list[Difference] = Field(default_factory=list)
    """What is other in the runs that decide it."""
    as_published: dict[str, str] = Field(default_factory=dict)
    """Rows of the table by their name in the set-up's file of published figures, where the table does not tell."""
    beside: ClaimId | None = None
    """Of a changed one: the claim that is decided in the source's set-up."""
    run: Name
    """One of ``runs``."""
    check: str | None = None
    """The name of the run's own check that decides it."""
    judge: dict[str, Any] | None = None
    """Or a check over the run's table, in the form of a table's checks, without name."""
    published: str = ""
    """The source's own figure or words."""
    value: float | None = Field(None, gt=0)
    """The published figure as a number, where there is one that the decisive figure is to be divided by."""
    unit: str = ""
    """What the decisive figure is, in words that follow it."""
    expected: str
    tolerance: str = ""
    why: str
    """Why this tolerance."""
    full_only: str = ""
    """Why a quick run can't decide it; it is then left open."""
    xfail: Xfail | None = None
    """That it is known not to hold, of a sentence of a source only."""
    cause: str = ""
    """Why a promise does not hold where it does not."""

    @model_validator(mode="before")
    @classmethod
    def _from_old_keys(cls, document: Any) -> Any:
        """Reads ``reproduces: false`` with its ``cause`` as ``xfail``, and ``by_chance`` as ``strict: false``."""
        if not isinstance(document, Mapping) or not {"reproduces", "by_chance"} & document.keys():
            return document
        rest = {key: value for key, value in document.items() if key not in ("reproduces", "by_chance", "cause")}
        if document.get("reproduces", True) is not False:
            raise InvalidValue(
                "claims.by-chance-alone", "by_chance says that a failure is not strict; give it with reproduces: false"
            )
        return {**rest, "xfail": {"cause": document.get("cause", ""), "strict": not document.get("by_chance", False)}}

    @model_validator(mode="after")
    def _fits_together(self) -> Claim:
        if (self.check is None) == (self.judge is None):
            raise InvalidValue(
                "claims.check-or-judge",
                "give either check, the name of a check of the run, or judge, a check over its table",
            )
        if (self.kind == "changed") != (self.beside is not None):
            raise InvalidValue(
                "claims.beside-without-changed",
                "beside names the claim that is decided in the source's set-up; give it with kind: changed, only there",
            )
        if self.kind == "changed" and not self.differs:
            raise InvalidValue("claims.no-differs", "differs: say what is changed, as ours and theirs")
        if self.xfail and self.kind not in OF_A_SOURCE:
            raise InvalidValue(
                "claims.xfail-of-a-promise",
                "xfail is for a sentence of a source (kind: {kinds}); what goes beyond it is this project's own, and "
                "holds or fails",
                kinds=" or ".join(OF_A_SOURCE),
            )
        if self.cause and self.kind in OF_A_SOURCE:
            raise InvalidValue(
                "claims.cause-without-failure", "cause is that of an expected failure; give it inside xfail"
            )
        return self

    def holds_with(self) -> str:
        """What is other than in the source's set-up, in words that follow a claim's; "" where nothing is."""
        words = ", and ".join(difference.in_words() for difference in self.differs)
        return f"{'Holds with' if self.kind == 'changed' and not self.xfail else 'With'} {words}." if words else ""

    def table_check(self, name: str) -> TableCheck | None:
        """``judge`` as a table's check; None for a claim that a check of the run decides."""
        return None if self.judge is None else TABLE_CHECK.validate_python({**self.judge, "name": name})


class Claims(Section):
    """All of it."""

    sources: dict[Name, Source]
    setups: dict[Name, Setup]
    runs: dict[Name, RunSpec]
    claims: dict[ClaimId, Claim]

    @model_validator(mode="after")
    def _all_there(self) -> Claims:
        for name, claim in self.claims.items():
            for what, wanted, known in (
                ("source", claim.source, self.sources),
                ("run", claim.run, self.runs),
                ("setup", claim.setup, self.setups),
            ):
                if wanted not in known:
                    raise InvalidValue(
                        "claims.no-such-part",
                        "claims.{claim}.{what}: there is no {what} {name!r}: {known}",
                        claim=name,
                        what=what,
                        name=wanted,
                        known=", ".join(known),
                    )
            claim.table_check(name)
            beside = claim.beside and self.claims.get(claim.beside)
            if claim.beside and not (beside and beside.kind == "claim"):
                raise InvalidValue(
                    "claims.beside-no-claim",
                    "claims.{claim}.beside: {beside!r} is no claim of kind claim",
                    claim=name,
                    beside=claim.beside,
                )
            for key in (key for difference in claim.differs for key in difference.keys):
                if key not in self.setups[claim.setup].says_of():
                    raise InvalidValue(
                        "claims.differs-elsewhere",
                        "claims.{claim}.differs: set-up {setup} does not mention {key!r}",
                        claim=name,
                        setup=claim.setup,
                        key=key,
                    )
        for what, there, wanted_by in (
            ("runs", self.runs, {claim.run for claim in self.claims.values()}),
            ("setups", self.setups, {claim.setup for claim in self.claims.values()}),
        ):
            if unused := set(there) - wanted_by:
                raise InvalidValue("claims.unused", "{what}.{name} decides no claim", what=what, name=unused.pop())
        for name, setup in self.setups.items():
            if setup.source not in self.sources:
                raise InvalidValue(
                    "claims.no-source",
                    "setups.{setup}.source: there is no source {source!r}",
                    setup=name,
                    source=setup.source,
                )
        return self

    def chosen(self, only: list[str]) -> Claims:
        """Those whose id is named, with the runs that they need; all without a name.

        Raises:
            KeyError: there is no such claim.
        """
        if not only:
            return self
        claims = {name: self.claims[name] for name in only}
        runs = {claim.run for claim in claims.values()}
        setups = {claim.setup for claim in claims.values()}
        return self.model_copy(
            update={
                "setups": {name: setup for name, setup in self.setups.items() if name in setups},
                "claims": {name: claim for name, claim in self.claims.items() if name in claims},
                "runs": {name: run for name, run in self.runs.items() if name in runs},
            }
        )
