"""What a table file may say (``scenarios/tables/``): which runs there are, and what must hold of their medians."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from testbed.judge.checks.parameters import CheckName
from testbed.judge.figures import GOODPUT
from testbed.message import InvalidValue
from testbed.plan.traffic_types import TRAFFIC
from testbed.scenario.quantities import Fraction
from testbed.scenario.section import CongestionControl, Name, Section

RowName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
FigureName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_.-]{0,63}$")]


CARRIERS = tuple(facts.name for facts in TRAFFIC.values() if facts.in_place_of_ncp)


def _carrier(name: str) -> str:
    if name not in CARRIERS:
        raise InvalidValue(
            "table.bad-carrier",
            "{carrier!r} does not take the place of NCP; should be {known}",
            carrier=name,
            known=", ".join(CARRIERS),
        )
    return name


Carrier = Annotated[str, AfterValidator(_carrier), Field(json_schema_extra={"enum": list(CARRIERS)})]


class Row(Section):
    """One setting: what it changes in ``cells``, in the form of ``--set``."""

    name: RowName
    label: str = ""
    title: str = ""
    set: dict[str, Any] = Field(default_factory=dict)
    known_as: dict[str, str] = Field(default_factory=dict)
    """The row's name in a file of known values, by that file's name, if it differs."""
    repeat: int | None = Field(None, ge=1, le=99)
    """How often it is run at most, if less than the table's: for rows that take long."""


class Column(Section):
    """One contender. ``policies: all`` stands for a column per window policy that the agent has."""

    name: Name | None = None
    policies: Literal["all"] | None = None
    carrier: Carrier | None = None
    """What carries the transfer in NCP's place (``mptcp``: the kernel's, with iperf3), or without it what the cells
    say."""
    congestion_control: CongestionControl | None = None
    """The carrier's, of MPTCP on each subflow; without it the kernel's default."""
    set: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_together(self) -> Column:
        if (self.name is None) == (self.policies is None):
            raise InvalidValue("table.name-or-policies", "give either name or policies: all")
        if self.congestion_control and self.carrier is None:
            raise InvalidValue(
                "table.congestion-control-of-ncp",
                "congestion_control is for carrier: {carriers}; NCP has its policies",
                carriers=", ".join(CARRIERS),
            )
        return self


class Known(Section):
    """Values from elsewhere: a CSV file with one for each of ``columns`` (ours → theirs) in a row for each of ours."""

    name: str
    file: str
    columns: dict[str, str]
    figure: FigureName | None = None
    """The figure that they are values of; without it the table's first."""
    by: list[str] = Field(["row"], min_length=1)
    """The columns that name a row there; of several, their values joined by ``/``."""


class OfFigure(Section):
    """What every check of a table has."""

    name: CheckName
    figure: FigureName | None = None
    """What is judged; without it the table's first figure."""
    rows: list[str] | None = None


class RatioCheck(OfFigure):
    """In each row, ``column`` is ``min``..``max`` times ``over``."""

    judge: Literal["ratio"]
    column: str
    over: str
    min: float = 0.0
    max: float | None = None


class DifferenceCheck(OfFigure):
    """In each row, ``column`` less ``over`` is ``min``..``max``, in the figure's unit."""

    judge: Literal["difference"]
    column: str
    over: str
    min: float
    max: float


class BoundCheck(OfFigure):
    """In each row, the columns are ``min``..``max`` of the row's bound."""

    judge: Literal["bound"]
    columns: list[str] = Field(min_length=1)
    min: float = 0.0
    max: float | None = None


class WithinCheck(OfFigure):
    """In each row, the columns' figure is ``min``..``max``."""

    judge: Literal["within"]
    columns: list[str] = Field(min_length=1)
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _a_limit(self) -> WithinCheck:
        if self.min is None and self.max is None:
            raise InvalidValue("table.no-bounds", "give min or max, or both")
        return self


class KnownCheck(OfFigure):
    """In each row, the columns are within ``tolerance`` of at least one known value."""

    judge: Literal["known"]
    columns: list[str] = Field(min_length=1)
    tolerance: Fraction
    cpu_time: bool = False
    """Whether the known values contain a machine's CPU time: they are then not asked if CPU time costs nothing."""
    least_n: int = Field(1, ge=1)
    """Medians of fewer runs leave the check open: if packets are lost by chance, one run says little."""


class RowRatioCheck(Section):
    """In each column, row ``row`` is ``min``..``max`` times row ``over``."""

    name: CheckName
    judge: Literal["row_ratio"]
    figure: FigureName | None = None
    row: str
    over: str
    columns: list[str] = Field(min_length=1)
    min: float = 0.0
    max: float | None = None

    @property
    def rows(self) -> list[str]:
        """The rows that it needs."""
        return [self.row, self.over]


class SlopeCheck(OfFigure):
    """Over all cells of the rows and columns, the figure rises by ``min``..``max`` per unit of the figure ``x``.

    The line is fitted by least squares, with an intercept.
    """

    judge: Literal["slope"]
    x: FigureName
    columns: list[str] = Field(min_length=1)
    min: float
    max: float
    least_r2: float = Field(0.0, ge=0, le=1)
    """The share of the figure's variance that the line must explain."""


class EachRunCheck(OfFigure):
    """The runs' own check ``check``, over all of them."""

    judge: Literal["each_run"]
    check: str


class RisesCheck(OfFigure):
    """From row to row, in the order of the table, ``column`` less ``over`` becomes larger. Judged by the medians."""

    judge: Literal["rises"]
    column: str
    over: str


class GainPlot(Section):
    """By how much ``column`` is above ``over`` in each row: absolute and in percent of ``over``, and both columns' own
    values. Known values are drawn in."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
    title: str
    x: str
    """What the rows differ in."""
    rows: list[str] = Field(min_length=1)
    column: str
    over: str
    figure: FigureName | None = None


TableCheck = Annotated[
    RatioCheck
    | DifferenceCheck
    | BoundCheck
    | WithinCheck
    | KnownCheck
    | RowRatioCheck
    | RisesCheck
    | SlopeCheck
    | EachRunCheck,
    Field(discriminator="judge"),
]


class Table(Section):
    """A table of runs. Each cell's values are figures of its runs, their goodput if the table says nothing else."""

    name: Name
    title: str
    source: str = ""
    description: str = ""
    repeat: int = Field(3, ge=1, le=99)
    seed: int = Field(1, ge=0, lt=2**62)
    """Of the first repetition; each further one has the next."""
    figures: list[FigureName] = Field([GOODPUT], min_length=1)
    """The figures of a run (``verdict.json``) that it is about; the first is the headline."""
    cells: dict[str, Any]
    """A scenario without name and title; rows and columns change it."""
    rows: list[Row] = Field(min_length=1, max_length=100)
    only: list[str] | None = Field(None, min_length=1)
    """The rows that are run if ``--rows`` names none; without it all."""
    columns: list[Column] = Field(min_length=1, max_length=32)
    known: list[Known] = Field(default_factory=list)
    checks: list[TableCheck] = Field(min_length=1)
    plots: list[GainPlot] = Field(default_factory=list)
    """What is drawn instead of a bar for every row and column."""
    findings: list[str] = Field(default_factory=list)
    """What the report says about the source, next to the figures. ``{row.column}`` is a median, ``{row.a/b}`` a ratio;
    ``{row.column:figure}`` is of another figure than the first."""
    quick: dict[str, Any] = Field(default_factory=dict)
    """Overrides that ``--quick`` applies, in the form of ``--set``."""

    @field_validator("rows")
    @classmethod
    def _names_differ(cls, rows: list[Row]) -> list[Row]:
        names = [row.name for row in rows]
        for name in names:
            if names.count(name) > 1:
                raise InvalidValue(
                    "table.row-twice", "two rows are named {row!r}; give each row a name of its own", row=name
                )
        return rows

    @model_validator(mode="after")
    def _rows_exist(self) -> Table:
        names = {row.name for row in self.rows}
        wanted = [("only", self.only), *((f"checks.{check.name}.rows", check.rows) for check in self.checks)]
        wanted += [(f"plots.{plot.name}.rows", plot.rows) for plot in self.plots]
        for where, listed in wanted:
            for name in listed or ():
                if name not in names:
                    raise InvalidValue(
                        "table.no-such-row",
                        "{where}: there is no row {row!r}; rows: {rows}",
                        where=where,
                        row=name,
                        rows=", ".join(sorted(names)),
                    )
        for where, figures in (
            *((f"checks.{check.name}", [check.figure, getattr(check, "x", None)]) for check in self.checks),
            *((f"known.{known.name}", [known.figure]) for known in self.known),
            *((f"plots.{plot.name}", [plot.figure]) for plot in self.plots),
        ):
            for figure in figures:
                if figure is not None and figure not in self.figures:
                    raise InvalidValue(
                        "table.no-such-figure",
                        "{where}: {figure!r} is none of figures: {known}",
                        where=where,
                        figure=figure,
                        known=", ".join(self.figures),
                    )
        known = {known.name for known in self.known}
        for row in self.rows:
            for name in row.known_as:
                if name not in known:
                    raise InvalidValue(
                        "table.not-known",
                        "rows.{row}.known_as: {name!r} is none of known: {known}",
                        row=row.name,
                        name=name,
                        known=", ".join(known),
                    )
        return self
