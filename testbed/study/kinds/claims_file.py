"""``data/published/claims.yaml``: sources with their set-ups, runs, and claims with the check of a run that decides
each.

A claim with a run or a check that does not exist is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, TypeAdapter, model_validator

from testbed import paths
from testbed.errors import BadInput, refuse_unknown
from testbed.judge.sign_test import LEAST_N
from testbed.message import InvalidValue, unknown
from testbed.plan.engines import ENGINES, named
from testbed.scenario import files
from testbed.scenario import load as scenarios
from testbed.scenario.load import parse, validated
from testbed.scenario.section import Name, Section
from testbed.study.checks.table import TableCheck
from testbed.study.kinds import sweep_file as sweeps
from testbed.study.kinds import table_file as tables

FILE = paths.CHECKOUT / "data" / "published" / "claims.yaml"
MOST_CHARACTERS = 1 << 18
"""Limit of the file, above that of a scenario."""

ClaimId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{2,63}$")]


def _engine(name: str) -> str:
    if name not in ENGINES:
        raise InvalidValue.of(unknown("engine.unknown", "engine", name, ENGINES))
    return name


EngineName = Annotated[str, AfterValidator(_engine)]

TABLE_CHECK: TypeAdapter[TableCheck] = TypeAdapter(TableCheck)
Text = Annotated[str, StringConstraints(strip_whitespace=True)]


class Difference(Section):
    """Difference from the source's set-up: "``ours`` in place of ``theirs``"."""

    ours: str
    theirs: str
    keys: list[str] = Field(default_factory=list)
    """Keys of the set-up that differ; none for a difference outside the plan."""

    def in_words(self) -> str:
        """Text for tables and reports."""
        return f"{self.ours} in place of {self.theirs}"


class FromColumn(Section):
    """Value from a column of published figures."""

    column: str
    times: float = 1.0
    """Factor to the plan's unit."""
    map: dict[str, Any] = Field(default_factory=dict)
    """Values of its words, in place of a factor."""
    part: int | None = None
    """Index into each ``pps@one_way_ms:loss`` of a list of links."""
    each: bool = False
    """Whether the plan has a list of this one value there."""


class OfRows(Section):
    """Values that differ from row to row, in a file of published figures. Rows are matched as for the table's ``known``
    of the same file."""

    file: str
    by: list[str] = Field(min_length=1)
    given: dict[str, FromColumn]


class Setup(Section):
    """A source's set-up. Keys are paths into a run's plan (docs/contracts.md); ``*`` is every entry of a list."""

    source: Name
    text: Text
    given: dict[str, Any] = Field(default_factory=dict)
    """Values that the source reports."""
    chosen: dict[str, Any] = Field(default_factory=dict)
    """Values that the source does not report, chosen for all claims of the set-up."""
    columns: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Values of the source for a column of a table."""
    rows: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Values of the source for a row of a table, by the row's name or its published name."""
    of_rows: OfRows | None = None
    differs: list[Difference] = Field(default_factory=list)
    """Differences of every run here, as the source's set-up can't be had."""

    def in_words(self) -> str:
        """The set-up, and its differences in every run here."""
        others = "; ".join(difference.in_words() for difference in self.differs)
        return f"{self.text} Here: {others}." if others else self.text

    def says_of(self) -> set[str]:
        """All keys that the set-up mentions."""
        of_rows = self.of_rows.given if self.of_rows else {}
        return set().union(self.given, self.chosen, *self.columns.values(), *self.rows.values(), of_rows)


class Source(Section):
    """Source of claims."""

    title: str
    by: str
    where: str
    """An address, or the place of printing."""


class Options(Section):
    """Options of a run, as on the command line."""

    set: list[str] = Field(default_factory=list)
    rows: list[str] = Field(default_factory=list)
    columns: list[str] = Field(default_factory=list)
    repeat: int | None = Field(None, ge=1, le=99)


class QuickRun(Options):
    """Options of the quick run, in place of the full ones; the scenario's own ``quick`` section applies, too."""

    minutes: float = Field(gt=0)
    whole: bool = False
    """Whether the full run is made even so, as it is short, or says nothing when it is shorter."""
    leave_out: str = ""
    """Reason for no quick run; its claims are left open."""


class RunSpec(Options):
    """Run of a scenario, table or sweep, made once for all of its claims."""

    run: str
    """The scenario's, table's or sweep's name."""
    minutes: float = Field(gt=0)
    """Minutes of a full run of ``repeat`` repetitions on two cores, estimated from measured parts."""
    sim_minutes: float = Field(0.2, gt=0)
    """Minutes in virtual time, also if it is refused there."""
    disk_mb: float = Field(gt=0)
    quick: QuickRun

    @property
    def kind(self) -> Literal["table", "sweep", "scenario"]:
        """Kind of the run."""
        return "table" if files.is_table(self.run) else "sweep" if files.is_sweep(self.run) else "scenario"

    def options(self, engine: str, *, quick: bool, repeat: int | None = None) -> Options:
        """Options that apply; the quick run's own take precedence, and ``repeat`` over both."""
        short = self.quick
        if quick:
            repeat = None if self.kind == "sweep" else repeat or short.repeat or 1
        else:
            repeat = LEAST_N if self.kind != "sweep" and not named(engine).virtual_time else self.repeat
        if not self.shorter(quick=quick):
            return self.model_copy(update={"repeat": repeat})
        rows, columns = short.rows or self.rows, short.columns or self.columns
        return Options(set=[*self.set, *short.set], rows=rows, columns=columns, repeat=repeat)

    def shorter(self, *, quick: bool) -> bool:
        """Whether the quick run is made."""
        return quick and not self.quick.whole

    def expected_minutes(self, engine: str, *, quick: bool, repeat: int | None = None) -> float:
        """Expected minutes, for the time left."""
        full = self.minutes if named(engine).kernel else self.sim_minutes
        if not quick and not named(engine).virtual_time:
            full *= (self.options(engine, quick=False).repeat or 1) / (self.repeat or 1)
        return min(full, self.quick.minutes) * (1 if self.kind == "sweep" else repeat or 1) if quick else full


class Xfail(Section):
    """Expected failure of a claim; the range of its figures is in ``expected-failures.json``."""

    cause: Annotated[Text, StringConstraints(min_length=1)]
    strict: bool = True
    """Whether it fails every time."""


class Rival(Section):
    """Run or figure that has to fail the check of a claim, such as the old policy or the mechanism switched off; a test
    shows that it does."""

    text: Annotated[Text, StringConstraints(min_length=1)]
    set: list[str] = Field(default_factory=list)
    """Options of its run, in addition to those of the claim's; it is judged by the plan of the claim's run."""
    column: str = ""
    """A column of the same table, in place of the claim's."""
    row: str = ""
    """A row of the same table, in place of the claim's."""
    times: float | None = Field(None, gt=0)
    """A factor on what was measured, where no run can be the rival."""
    no_run: Text = ""
    """Reason why none can."""

    @model_validator(mode="after")
    def _one_way(self) -> Rival:
        if sum(map(bool, (self.set, self.column, self.row, self.times))) != 1 or bool(self.times) != bool(self.no_run):
            raise InvalidValue("claims.rival-ways", "give one of set, column, row, and times with no_run")
        return self


Bound = Literal["digits", "spread", "law", "equivalence", "limit", "promise"]
"""Origin of a claim's bound. ``digits``: half a unit of the last printed place, or the range as printed.
``spread``: 95% of the ratio of two executions. ``law``: derived, give or take a sample, tick, segment or round trip.
``equivalence``: half of the distance to the nearest rival. ``limit``: a sign, order, count or constant. ``promise``:
this project's own."""


def _table_check(judge: dict[str, Any]) -> dict[str, Any]:
    TABLE_CHECK.validate_python({**judge, "name": "judge"})
    return judge


OF_A_SOURCE = ("claim", "changed")
"""The kinds of claims that are sentences of a source."""


class Claim(Section):
    """Sentence of a source (or about it), and the check that decides it."""

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
    """Differences of the runs that decide it from the set-up."""
    as_published: dict[str, str] = Field(default_factory=dict)
    """Rows of the table by name in the set-up's file of published figures, if the table lacks them."""
    beside: ClaimId | None = None
    """The claim that is decided in the source's set-up, for kind ``changed``."""
    run: Name
    """One of ``runs``."""
    check: str | None = None
    """The name of the run's own check that decides it."""
    judge: Annotated[dict[str, Any], AfterValidator(_table_check)] | None = None
    """A check over the run's table in place of ``check``, written as in a table, without name."""
    published: str = ""
    """The source's own figure, in short."""
    quote: Text = ""
    """The source's sentence, word for word; none where the claim is this project's own."""
    place: str = ""
    """Place in the source."""
    value: float | None = Field(None, gt=0)
    """The published figure as a number, if the decisive figure is divided by it."""
    unit: str = ""
    """Words that follow the decisive figure."""
    expected: str
    tolerance: str = ""
    why: Text
    """Reason for the bound."""
    bound: Bound | None = None
    """Origin of the bound; none for a measurement, which has no bound."""
    rival: Rival | None = None
    """Run or figure that has to fail the same check."""
    full_only: str = ""
    """Reason why a quick run leaves it open."""
    undecidable_on: dict[EngineName, Annotated[Text, StringConstraints(min_length=1)]] = Field(default_factory=dict)
    """Reasons by engine why the runs there can't decide it: if a full run leaves it inconclusive, it stays open and
    does not count. If they decide it after all, its verdict counts."""
    xfail: Xfail | None = None
    """Expected failure, for a sentence of a source only."""
    cause: Text = ""
    """Cause of a failure, for a promise of this project."""

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
                f"xfail is for a sentence of a source (kind: {' or '.join(OF_A_SOURCE)}); what goes beyond it is this "
                "project's own, and holds or fails",
            )
        if self.cause and self.kind in OF_A_SOURCE:
            raise InvalidValue(
                "claims.cause-without-failure", "cause is that of an expected failure; give it inside xfail"
            )
        return self

    def holds_with(self) -> str:
        """Differences from the source's set-up, as a sentence after the claim; "" without any."""
        words = ", and ".join(difference.in_words() for difference in self.differs)
        return f"{'Holds with' if self.kind == 'changed' and not self.xfail else 'With'} {words}." if words else ""

    def table_check(self, name: str) -> TableCheck | None:
        """``judge`` as a table's check; None for a claim that a check of the run decides."""
        return None if self.judge is None else TABLE_CHECK.validate_python({**self.judge, "name": name})


class Claims(Section):
    """The file of claims."""

    sources: dict[Name, Source]
    setups: dict[Name, Setup]
    runs: dict[Name, RunSpec]
    claims: dict[ClaimId, Claim]

    @model_validator(mode="after")
    def _all_there(self) -> Claims:
        parts: Mapping[str, Mapping[str, Section]] = {"source": self.sources, "run": self.runs, "setup": self.setups}
        named = [(f"setups.{name}.source", "source", setup.source) for name, setup in self.setups.items()]
        for name, claim in self.claims.items():
            named += [(f"claims.{name}.{kind}", kind, getattr(claim, kind)) for kind in parts]
        for place, kind, part in named:
            if part not in parts[kind]:
                raise InvalidValue.of(unknown("claims.no-such-part", kind, part, parts[kind]).at(place))
        for name, claim in self.claims.items():
            if claim.beside and (claim.beside not in self.claims or self.claims[claim.beside].kind != "claim"):
                raise InvalidValue(
                    "claims.beside-no-claim", f"claims.{name}.beside: {claim.beside!r} is no claim of kind claim"
                )
            keys = {key for difference in claim.differs for key in difference.keys}
            if elsewhere := keys - self.setups[claim.setup].says_of():
                raise InvalidValue(
                    "claims.differs-elsewhere",
                    f"claims.{name}.differs: set-up {claim.setup} does not mention {min(elsewhere)!r}",
                )
        for kind in ("run", "setup"):
            if unused := parts[kind].keys() - {getattr(claim, kind) for claim in self.claims.values()}:
                raise InvalidValue("claims.unused", f"{kind}s.{min(unused)} decides no claim")
        return self


def load(path: Path = FILE, only: Sequence[str] = ()) -> Claims:
    """Reads all claims, or ``only`` some with their runs and set-ups; raises :class:`BadInput`."""
    text = path.read_text(encoding="utf-8")
    claims = validated(Claims, path, parse(path, text, "it is a mapping with sources, runs, claims", MOST_CHARACTERS))
    runs: dict[Name, RunSpec] = {}
    for run_name, run in claims.runs.items():
        try:
            requested = _loaded(run)
        except BadInput as error:
            raise error.at(f"{path}: runs.{run_name}") from error
        checks = [getattr(check, "name", check) for check in requested.checks]
        rows = [row.name for row in getattr(requested, "rows", ())]
        deciding = [claim for name, claim in claims.claims.items() if claim.run == run_name and name in only]
        if deciding or not only:
            runs[run_name] = _with_rows_of(deciding, run, requested) if deciding and rows else run
        for name, claim in claims.claims.items():
            if claim.run == run_name and (wrong := _dangling(claim, run, checks, rows)):
                raise BadInput("claims.bad-claim", f"{path}: claims.{name}: {wrong}")
    for name in only:
        refuse_unknown("claims.no-such-claim", "claim", name, claims.claims, "--only")
    kept = {name: claim for name, claim in claims.claims.items() if not only or name in only}
    setups = {claim.setup: claims.setups[claim.setup] for claim in kept.values()}
    return claims.model_copy(update={"setups": setups, "claims": kept, "runs": runs})


def _with_rows_of(claims: Sequence[Claim], run: RunSpec, table: tables.Table) -> RunSpec:
    """The run of a table with the rows alone that the checks of some claims are about, and as much less time."""
    named = {claim.check for claim in claims}
    checks = [check for claim in claims if (check := claim.table_check("it"))]
    checks += [check for check in table.checks if check.name in named]
    every = run.rows or [row.name for row in table.rows]
    needed = {row for check in checks for row in check.rows or every}

    def part(of: Options, rows: Sequence[str], *costs: str) -> Any:
        kept = [row for row in rows if row in needed] or rows
        less = {key: getattr(of, key) * len(kept) / len(rows) for key in costs}
        return of.model_copy(update={"rows": kept, **less})

    if needed.issuperset(every):
        return run
    quick = part(run.quick, run.quick.rows or every, "minutes")
    less: RunSpec = part(run.model_copy(update={"quick": quick}), every, "minutes", "sim_minutes", "disk_mb")
    return less


def _loaded(run: RunSpec) -> Any:
    """A run's scenario, table or sweep; raises :class:`BadInput` where it can't be loaded, also in quick form."""
    load = {"table": tables.load, "sweep": sweeps.load, "scenario": scenarios.load}[run.kind]
    load(run.run, [*run.set, *run.quick.set], quick=True)
    return getattr(load(run.run, run.set), run.kind)


def _dangling(claim: Claim, run: RunSpec, checks: Sequence[str], rows: Sequence[str]) -> str:
    """Describes a name in a claim that does not exist; "" for none."""
    if claim.check and claim.check not in checks:
        return f"check {claim.check!r}: {run.run} has no such check; it has {', '.join(checks)}"
    if claim.judge is not None and run.kind != "table":
        return f"judge: {run.run} is no table, so it has no cells; name its check"
    check = claim.table_check("it")
    for name in (*((check and check.rows) or ()), *run.rows, *run.quick.rows):
        if run.kind == "table" and name not in rows:
            return f"there is no row {name!r} in {run.run}"
    return ""
