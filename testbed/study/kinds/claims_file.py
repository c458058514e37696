"""``data/published/claims.yaml``: sources with their set-ups, runs, and which check of which run decides a claim.

No claim may point at a run or a check that does not exist.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, TypeAdapter, model_validator

from testbed import paths
from testbed.errors import BadInput
from testbed.message import InvalidValue
from testbed.plan.engines import named
from testbed.scenario import files
from testbed.scenario import load as scenarios
from testbed.scenario.load import parse, validated
from testbed.scenario.section import Name, Section
from testbed.study.checks.table import TableCheck
from testbed.study.kinds import sweep_file as sweeps
from testbed.study.kinds import table_file as tables

FILE = paths.CHECKOUT / "data" / "published" / "claims.yaml"
MOST_CHARACTERS = 1 << 18
"""The project's own file of all claims is longer than any scenario may be."""

ClaimId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{2,63}$")]

TABLE_CHECK: TypeAdapter[TableCheck] = TypeAdapter(TableCheck)
Text = Annotated[str, StringConstraints(strip_whitespace=True)]


class Difference(Section):
    """What is other than in the source's set-up: "``ours`` in place of ``theirs``"."""

    ours: str
    theirs: str
    keys: list[str] = Field(default_factory=list)
    """The set-up's keys that it is about; none where a plan does not show it."""

    def in_words(self) -> str:
        """As it stands in tables and reports."""
        return f"{self.ours} in place of {self.theirs}"


class FromColumn(Section):
    """A value that a column of published figures gives."""

    column: str
    times: float = 1.0
    """What it is multiplied with, to be in the plan's unit."""
    map: dict[str, Any] = Field(default_factory=dict)
    """Or what its words mean."""
    part: int | None = None
    """Of a list of links, ``pps@one_way_ms:loss`` each: which of the three."""
    each: bool = False
    """Whether the plan has a list there, of this one value."""


class OfRows(Section):
    """What differs from row to row, in a file of published figures; its rows are found as the table's ``known`` of
    the same file finds them."""

    file: str
    by: list[str] = Field(min_length=1)
    given: dict[str, FromColumn]


class Setup(Section):
    """A source's set-up. Keys are paths into a run's plan (docs/contracts.md); ``*`` is every entry of a list."""

    source: Name
    text: Text
    given: dict[str, Any] = Field(default_factory=dict)
    """What the source tells."""
    chosen: dict[str, Any] = Field(default_factory=dict)
    """What it does not tell, and was chosen for all claims that are decided in it."""
    columns: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """What it tells for a column of a table."""
    rows: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """What it tells for a row of a table, by the row's name there, or by its published one."""
    of_rows: OfRows | None = None
    differs: list[Difference] = Field(default_factory=list)
    """What is other in every run here, as it can't be had."""

    def in_words(self) -> str:
        """The set-up, and what is other in every run here."""
        others = "; ".join(difference.in_words() for difference in self.differs)
        return f"{self.text} Here: {others}." if others else self.text

    def says_of(self) -> set[str]:
        """All that it says something of."""
        of_rows = self.of_rows.given if self.of_rows else {}
        return set().union(self.given, self.chosen, *self.columns.values(), *self.rows.values(), of_rows)


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

    @property
    def kind(self) -> Literal["table", "sweep", "scenario"]:
        """What it is a run of."""
        return "table" if files.is_table(self.run) else "sweep" if files.is_sweep(self.run) else "scenario"

    def options(self, engine: str, *, quick: bool) -> Options:
        """Those that apply; a quick run's own have the last word."""
        if not self.shorter(quick=quick):
            repeat = self.repeat if named(engine).kernel else self.sim_repeat or self.repeat
            return self.model_copy(update={"repeat": repeat})
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
        full = self.minutes if named(engine).kernel else self.sim_minutes
        if not quick:
            return full
        return self.quick.minutes if named(engine).kernel else min(full, self.quick.minutes)


class Xfail(Section):
    """That a sentence is known not to hold; where its figures then lie is in ``expected-failures.json`` beside."""

    cause: Annotated[Text, StringConstraints(min_length=1)]
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
    text: Text
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
    why: Text
    """Why this tolerance."""
    full_only: str = ""
    """Why a quick run can't decide it; it is then left open."""
    xfail: Xfail | None = None
    """That it is known not to hold, of a sentence of a source only."""
    cause: Text = ""
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
        for name, setup in self.setups.items():
            if setup.source not in self.sources:
                raise InvalidValue(
                    "claims.no-source",
                    "setups.{setup}.source: there is no source {source!r}",
                    setup=name,
                    source=setup.source,
                )
        for name, claim in self.claims.items():
            parts: dict[str, Mapping[str, Section]]
            parts = {"source": self.sources, "run": self.runs, "setup": self.setups}
            for what, known in parts.items():
                if getattr(claim, what) not in known:
                    raise InvalidValue(
                        "claims.no-such-part",
                        "claims.{claim}.{what}: there is no {what} {name!r}: {known}",
                        claim=name,
                        what=what,
                        name=getattr(claim, what),
                        known=", ".join(known),
                    )
            claim.table_check(name)
            if claim.beside and (claim.beside not in self.claims or self.claims[claim.beside].kind != "claim"):
                raise InvalidValue(
                    "claims.beside-no-claim",
                    "claims.{claim}.beside: {beside!r} is no claim of kind claim",
                    claim=name,
                    beside=claim.beside,
                )
            keys = {key for difference in claim.differs for key in difference.keys}
            if elsewhere := keys - self.setups[claim.setup].says_of():
                raise InvalidValue(
                    "claims.differs-elsewhere",
                    "claims.{claim}.differs: set-up {setup} does not mention {key!r}",
                    claim=name,
                    setup=claim.setup,
                    key=min(elsewhere),
                )
        for what, unused in (("runs", set(self.runs)), ("setups", set(self.setups))):
            unused -= {getattr(claim, what.removesuffix("s")) for claim in self.claims.values()}
            if unused:
                raise InvalidValue("claims.unused", "{what}.{name} decides no claim", what=what, name=min(unused))
        return self


def load(path: Path = FILE, only: Sequence[str] = ()) -> Claims:
    """All claims, or those whose id is named with what they need; raises :class:`BadInput` that names what is wrong."""
    text = path.read_text(encoding="utf-8")
    document = parse(path, text, "it is a mapping with sources, runs, claims", MOST_CHARACTERS)
    claims = validated(Claims, path, document)
    there = {name: _names_in(run) for name, run in claims.runs.items()}
    for name, claim in claims.claims.items():
        if wrong := _dangling(claim, claims.runs[claim.run], there[claim.run]):
            raise BadInput("claims.bad-claim", "{path}: claims.{claim}: {wrong}", path=path, claim=name, wrong=wrong)
    for name in only:
        if name not in claims.claims:
            close = difflib.get_close_matches(name, claims.claims, n=1, cutoff=0.5)
            raise BadInput(
                "claims.no-such-claim",
                "--only: there is no claim {claim!r}{guess}",
                "./run.sh all --dry-run lists them",
                claim=name,
                guess=f"; did you mean {close[0]!r}?" if close else "",
            )
    kept = {name: claim for name, claim in claims.claims.items() if not only or name in only}
    setups = {claim.setup: claims.setups[claim.setup] for claim in kept.values()}
    needed = {claim.run for claim in kept.values()}
    runs = {name: run for name, run in claims.runs.items() if name in needed}
    return claims.model_copy(update={"setups": setups, "claims": kept, "runs": runs})


def _names_in(run: RunSpec) -> tuple[list[str], list[str]] | BadInput:
    """The names of its checks and of a table's rows; what is wrong with it, also in its quick form."""
    load = {"table": tables.load, "sweep": sweeps.load, "scenario": scenarios.load}[run.kind]
    try:
        load(run.run, [*run.set, *run.quick.set], quick=True)
        loaded: Any = load(run.run, run.set)
    except BadInput as error:
        return error
    asked = getattr(loaded, run.kind)
    return [getattr(check, "name", check) for check in asked.checks], [row.name for row in getattr(asked, "rows", ())]


def _dangling(claim: Claim, run: RunSpec, there: tuple[list[str], list[str]] | BadInput) -> str | None:
    """What of it points at nothing, in words; None where all is there."""
    if isinstance(there, BadInput):
        return f"run {claim.run}: {there.message}"
    checks, rows = there
    if claim.check is not None and claim.check not in checks:
        return f"check {claim.check!r}: {run.run} has no such check; it has {', '.join(checks)}"
    for also in claim.xfail.also if claim.xfail else ():
        if also not in checks:
            return f"xfail.also: {run.run} has no check {also!r}; it has {', '.join(checks)}"
    if claim.judge is not None and run.kind != "table":
        return f"judge: {run.run} is no table, so it has no cells; name its check"
    check = claim.table_check("it")
    for name in (*((check and check.rows) or ()), *run.rows, *run.quick.rows):
        if run.kind == "table" and name not in rows:
            return f"there is no row {name!r} in {run.run}"
    return None
