"""Reads table files (``scenarios/tables/``): what one may say, the scenarios of its cells, and a scenario that is run
several times as a table of one cell."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from testbed import confine, documents, paths
from testbed.errors import BadInput
from testbed.judge.figures import GOODPUT
from testbed.judge.status import Status
from testbed.message import InvalidValue
from testbed.plan import codes
from testbed.plan.traffic_types import TRAFFIC
from testbed.scenario import files
from testbed.scenario import load as scenarios
from testbed.scenario.load import LoadedScenario, parse, plain, validated
from testbed.scenario.model import Scenario
from testbed.scenario.overrides import apply_override, assigned_twice, split_assignment
from testbed.scenario.quick import apply_quick
from testbed.scenario.section import CongestionControl, Name, Section
from testbed.study.cell import folder_of
from testbed.study.checks.each_run import FigureName
from testbed.study.checks.table import SlopeCheck, TableCheck
from testbed.study.kinds.table_result import COLUMN, ROW, KnownValue, read_table, results_of

RowName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]


CARRIERS = tuple(facts.name for facts in TRAFFIC.values() if facts.in_place_of_ncp)


def _carrier(name: str) -> str:
    if name not in CARRIERS:
        raise InvalidValue(
            "table.bad-carrier", f"{name!r} does not take the place of NCP; should be {', '.join(CARRIERS)}"
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
    """Most repetitions, if fewer than the table's: for rows that take long."""


class Column(Section):
    """One variant. ``policies: all`` stands for a column per window policy that the agent has."""

    name: Name | None = None
    policies: Literal["all"] | None = None
    carrier: Carrier | None = None
    """Protocol in NCP's place (``mptcp``: the kernel's, with iperf3); default: that of the cells."""
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
                f"congestion_control is for carrier: {', '.join(CARRIERS)}; NCP has its policies",
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


class GainPlot(Section):
    """The gain of ``column`` over ``over`` in each row: absolute and in percent of ``over``, and both columns' own
    values. Known values are drawn in."""

    name: RowName
    title: str
    x: str
    """The quantity by which the rows differ."""
    rows: list[str] = Field(min_length=1)
    column: str
    over: str
    figure: FigureName | None = None


class Table(Section):
    """A table of runs. Each cell's values are figures of its runs, their goodput if the table says nothing else."""

    name: Name
    title: str
    source: str = ""
    description: str = ""
    repeat: int = Field(3, ge=1, le=99)
    seed: int = Field(1, ge=0, lt=2**62)
    """Seed of the first repetition; each further one has the next."""
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
    """Plots in place of a bar for every row and column."""
    findings: list[str] = Field(default_factory=list)
    """Sentences of the report about the source, next to the figures. ``{row.column}`` is a median, ``{row.a/b}`` a
    ratio; ``{row.column:figure}`` is of another figure than the first."""
    quick: dict[str, Any] = Field(default_factory=dict)
    """Values that ``--quick`` gives to keys of the table, and overrides in the form of ``--set``."""

    @field_validator("rows")
    @classmethod
    def _names_differ(cls, rows: list[Row]) -> list[Row]:
        names = [row.name for row in rows]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InvalidValue("table.row-twice", f"two rows are named {twice[0]!r}; give each row a name of its own")
        return rows

    @model_validator(mode="after")
    def _names_exist(self) -> Table:
        rows, sources = sorted(row.name for row in self.rows), [known.name for known in self.known]
        parts = {key: [(f"{key}.{of.name}", of) for of in getattr(self, key)] for key in ("checks", "known", "plots")}
        of_rows = [("only", row) for row in self.only or ()]
        of_rows += [(f"{at}.rows", row) for at, of in parts["checks"] + parts["plots"] for row in of.rows or ()]
        of_figures = [(at, of.figure) for part in parts.values() for at, of in part if of.figure]
        of_figures += [(at, of.x) for at, of in parts["checks"] if isinstance(of, SlopeCheck)]
        of_sources = [(row.name, name) for row in self.rows for name in row.known_as]
        for where, row in of_rows:
            if row not in rows:
                raise InvalidValue("table.no-such-row", f"{where}: there is no row {row!r}; rows: {', '.join(rows)}")
        for where, figure in of_figures:
            if figure not in self.figures:
                raise InvalidValue(
                    "table.no-such-figure", f"{where}: {figure!r} is none of figures: {', '.join(self.figures)}"
                )
        for row, name in of_sources:
            if name not in sources:
                raise InvalidValue(
                    "table.not-known", f"rows.{row}.known_as: {name!r} is none of known: {', '.join(sources)}"
                )
        return self


KEPT_AS = "table.yaml"
"""A table in its result folder, as it was run: with what ``--quick`` and ``--set`` changed."""


@dataclass(frozen=True)
class LoadedTable:
    """A validated table, its file, and its document with what ``--quick`` and ``--set`` changed."""

    table: Table
    path: Path
    document: CommentedMap
    overrides: tuple[str, ...]
    changed: bool = False
    """Whether ``--set`` changed it, beyond what ``--quick`` does, or it is a user's file with a shipped one's name."""


def load(name: str, assignments: Sequence[str] = (), *, quick: bool = False) -> LoadedTable:
    """Read, override and validate; raises :class:`BadInput`. ``assignments`` change the cells' scenario."""
    path = files.find(name, "table", files.tables())
    document = parse(path, files.read(path), "a table is a mapping with name, cells, rows, columns")
    applied = apply_quick(path, document, Table.model_fields) if quick else []
    table = validated(Table, path, document, applied)
    changes = [document["cells"].get("ncp"), *(one.get("set") for one in (*document["rows"], *document["columns"]))]
    if sum(codes.keep_in(part, path, f"{path}: code") for part in changes):
        table = validated(Table, path, document, applied)
    for row in document["rows"]:
        # After what the row sets, so that --set has the last word.
        row.setdefault("set", CommentedMap()).update(map(split_assignment, assignments))
    changed = bool(assignments) or files.has_shipped_name(path, table.name, files.tables())
    return LoadedTable(table, path, document, (*applied, *assignments), changed)


def refuse_without_effect(loaded: LoadedTable, assignments: Sequence[str]) -> None:
    """Raise :class:`BadInput` where ``--set`` is of what a column sets, which has the last word."""
    for column in loaded.table.columns:
        own = [*column.set, *(["ncp.policy"] if column.policies else [])]
        if text := assigned_twice(loaded.document["cells"], assignments, own):
            raise BadInput(
                "table.set-by-a-column",
                f"--set {text}: has no effect, as column {column.name or 'policies'} of {loaded.table.name} sets that",
                f"Choose columns with --columns, or change the table's file, {loaded.path}.",
            )


def keep(loaded: LoadedTable, folder: Path) -> None:
    """Write the table into its result folder, to be judged again by its checks at that time."""
    with (folder / KEPT_AS).open("w", encoding="utf-8") as file:
        YAML().dump(loaded.document, file)  # in its own order, which tables keep to


def columns_of(table: Table, policies: Iterable[str]) -> dict[str, Column]:
    """The columns by their names, with one for each policy where all are requested."""
    found: dict[str, Column] = {}
    for column in table.columns:
        for name in policies if column.policies else [str(column.name)]:
            if name in found:
                raise BadInput("table.column-twice", f"two columns are named {name!r}; give each a name of its own")
            set_ = {**column.set, "ncp.policy": name} if column.policies else column.set
            found[name] = column.model_copy(update={"name": name, "set": set_})
    return found


def scenario_of(loaded: LoadedTable, row: Row, column: Column) -> LoadedScenario:
    """The scenario of a cell; raises :class:`BadInput` that names row and column."""
    document = copy.deepcopy(loaded.document["cells"])
    row_document = next(r for r in loaded.document["rows"] if str(r["name"]) == row.name)
    origin = f"{loaded.path}: row {row.name}, column {column.name}"
    changes: list[tuple[str, Any]] = [*(row_document.get("set") or {}).items(), *column.set.items()]
    for key, value in changes:
        apply_override(document, str(key), value, origin=origin)
    applied = tuple(f"{key}={value}" for key, value in changes if not isinstance(value, (list, dict)))
    title = f"{loaded.table.title}: {row.label or row.name}, {column.name}"
    document.update(name=loaded.table.name, title=title, source=loaded.table.source)
    try:
        scenario = validated(Scenario, loaded.path, document)
    except BadInput as error:
        raise error.at("", f" (row {row.name}, column {column.name})") from error
    text = io.StringIO()
    YAML(typ="safe").dump(plain(document), text)
    return LoadedScenario(scenario, loaded.path, text.getvalue(), applied)


def repeated(name: str, assignments: Sequence[str], *, quick: bool, repeat: int, seed: int | None) -> LoadedTable:
    """The table of ``repeat`` runs of a scenario; raises :class:`BadInput` as the scenario itself does."""
    loaded = scenarios.load(name, assignments, quick=quick)  # its own words for what is wrong
    path, document, applied = scenarios.document_of(name, assignments, quick=quick)
    if repeat < 2:
        raise BadInput("table.too-few-runs", "--repeat: at least 2 runs make a repetition")
    scenario, heading = loaded.scenario, ("name", "title", "source", "description")
    table = CommentedMap(
        **{key: getattr(scenario, key) for key in heading},
        repeat=repeat,
        seed=scenario.seed if seed is None else seed,
        cells=CommentedMap((key, value) for key, value in document.items() if key not in (*heading, "quick")),
        rows=[CommentedMap(name=ROW)],
        columns=[CommentedMap(name=COLUMN)],
        checks=[CommentedMap(name=check.name, judge="each_run", check=check.name) for check in scenario.checks],
    )
    return LoadedTable(validated(Table, path, table), path, table, tuple(applied), loaded.changed)


def first_run(folder: Path) -> Path | None:
    """The first trusted run of a repeated scenario's result folder; None for any other table, or without one."""
    table = read_table(folder)
    runs = (
        confine.inside(folder, folder_of(*found.at.values()), found.record.run)
        for found in results_of(table)
        if found.status in (Status.PASS, Status.FAIL)
    )
    return next(runs, None) if table["columns"] == [COLUMN] else None


def read_known(source: Known) -> dict[str, dict[str, str]]:
    """A file of known values by its own name of the row; BadInput where a column is missing."""
    path = paths.CHECKOUT / source.file
    if not path.exists():
        path = paths.CHECKOUT / paths.renamed(source.file)
    if not confine.file(path, f"known.{source.name}.file").is_file():
        raise BadInput("table.known-no-file", f"known.{source.name}.file: there is no file {source.file}")
    rows = documents.read_csv(path)
    for column in (*source.by, *source.columns.values()):
        if rows and column not in rows[0]:
            raise BadInput(
                "table.known-no-column",
                f"known.{source.name}.columns: {source.file} has no column {column!r}; it has {', '.join(rows[0])}",
            )
    return {"/".join(row[column] for column in source.by): row for row in rows}


def known_of(source: Known, values: Mapping[str, Mapping[str, str]], row: Row, first_figure: str) -> list[KnownValue]:
    found = values.get(row.known_as.get(source.name, row.name), {})
    return [
        KnownValue(source.name, ours, float(found[theirs]), source.figure or first_figure)
        for ours, theirs in source.columns.items()
        if found.get(theirs)
    ]
