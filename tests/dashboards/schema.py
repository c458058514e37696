"""What Grafana 9.3 to 13 reads of a dashboard and of provisioned alert rules, as strict models.

Grafana ignores what it does not know, so a misspelt key would go unseen; here every key is known or an error. The
rules are those of Grafana's own code: dashboards as of schema version 36 (kinds/dashboard), which later versions
migrate; rules as pkg/services/provisioning/alerting reads them, where one that fails stops Grafana at its start.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Uid = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
Word = Annotated[str, StringConstraints(pattern=r"^\w+$")]
PANEL_TYPES = Literal["timeseries", "stat", "table", "status-history", "bargauge"]
"""Those that Grafana 9.3 has, too."""

UNITS = frozenset({"percentunit", "bps", "bytes", "none", "ms", "short", "pps", "s", "µs", "MiBs"})
OVERRIDES = frozenset(
    {
        "color",
        "custom.lineWidth",
        "custom.lineStyle",
        "unit",
        "links",
        "custom.hidden",
        "mappings",
        "custom.displayMode",
        "custom.cellOptions",
        "displayName",
        "custom.width",
        "custom.fillBelowTo",
        "custom.fillOpacity",
        "custom.hideFrom",
        "custom.showPoints",
        "noValue",
    }
)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class DataSource(Strict):
    type: Literal["influxdb"]
    uid: Literal["ncp-influxdb"]


class Target(Strict):
    datasource: DataSource
    query: str = Field(min_length=20)
    rawQuery: Literal[True]
    refId: str = Field(pattern="^[A-Z]$")
    resultFormat: Literal["time_series", "table"]
    alias: str = ""


class GridPos(Strict):
    x: int = Field(ge=0, lt=24)
    y: int = Field(ge=0)
    w: int = Field(ge=1, le=24)
    h: int = Field(ge=1)

    @model_validator(mode="after")
    def _on_the_grid(self) -> GridPos:
        if self.x + self.w > 24:
            raise ValueError(f"x {self.x} + w {self.w} is beyond the 24 columns")
        return self


class Property(Strict):
    id: str
    value: Any

    @model_validator(mode="after")
    def _known(self) -> Property:
        if self.id not in OVERRIDES or (self.id == "unit" and self.value not in UNITS):
            raise ValueError(f"no property {self.id} of value {self.value}")
        return self


class Matcher(Strict):
    id: Literal["byName", "byRegexp"]
    options: str = Field(min_length=1)


class Override(Strict):
    matcher: Matcher
    properties: list[Property] = Field(min_length=1)


class Defaults(BaseModel):
    """Options of fields: their own part depends on the panel's type."""

    model_config = ConfigDict(extra="allow")
    unit: str | None = None

    @model_validator(mode="after")
    def _known_unit(self) -> Defaults:
        if self.unit is not None and self.unit not in UNITS:
            raise ValueError(f"Grafana has no unit {self.unit!r}")
        return self


class FieldConfig(Strict):
    defaults: Defaults
    overrides: list[Override]


class Transformation(Strict):
    id: Literal["groupingToMatrix", "merge", "organize", "sortBy"]
    options: dict[str, Any]


class Panel(Strict):
    id: int = Field(ge=1)
    type: PANEL_TYPES
    title: str = Field(min_length=1)
    description: str
    datasource: DataSource
    fieldConfig: FieldConfig
    gridPos: GridPos
    options: dict[str, Any]
    targets: list[Target] = Field(min_length=1)
    transformations: list[Transformation]
    transparent: bool
    interval: str | None = Field(None, pattern=r"^\d+(ms|s|m|d)$")
    timeFrom: str | None = Field(None, pattern=r"^\$\{\w+\}s$")
    timeShift: str | None = Field(None, pattern=r"^\$\{\w+\}s$")
    hideTimeOverride: bool = False
    repeat: Word | None = None
    repeatDirection: Literal["h", "v"] | None = None


class Row(Strict):
    id: int = Field(ge=1)
    type: Literal["row"]
    title: str = Field(min_length=1)
    collapsed: Literal[False]
    gridPos: GridPos
    panels: list[Any] = Field(max_length=0)
    repeat: Word | None = None


class Current(Strict):
    selected: bool
    text: str
    value: str


class Variable(Strict):
    name: Word
    label: str
    type: Literal["query", "custom", "textbox"]
    query: str
    skipUrlSync: bool
    regex: str | None = Field(None, pattern=r"^/\^\(.+\)\$?/$")
    hide: Literal[0, 2] = 0
    datasource: DataSource | None = None
    refresh: Literal[1, 2] | None = None
    sort: int | None = None
    multi: bool = False
    includeAll: bool = False
    allValue: str | None = None
    current: Current | None = None

    @model_validator(mode="after")
    def _of_its_type(self) -> Variable:
        if (self.type == "query") != (self.datasource is not None and self.refresh is not None):
            raise ValueError("a query needs data source and refresh, another variable has none")
        if self.skipUrlSync != (self.hide == 2 and self.type == "query"):
            raise ValueError("what follows of others has no place in an address; the others have, hidden or not")
        return self


class Templating(Strict):
    list: list[Variable]


class AnnotationTarget(Strict):
    refId: str
    fromAnnotations: Literal[True]
    resultFormat: Literal["table"]
    query: str
    rawQuery: Literal[True]
    textColumn: str
    tagsColumn: str


class Annotation(Strict):
    """Grafana 9.3 reads ``query``, later ones ``target``: both have to be there and agree."""

    name: str
    datasource: DataSource
    enable: bool
    hide: bool
    iconColor: str
    query: str
    textColumn: str
    tagsColumn: str
    target: AnnotationTarget

    @model_validator(mode="after")
    def _the_same_twice(self) -> Annotation:
        if self.query != self.target.query:
            raise ValueError("query and target.query differ")
        return self


class Annotations(Strict):
    list: list[Annotation]


class Link(Strict):
    title: str
    type: Literal["link", "dashboards"]
    icon: str
    tooltip: str
    url: str
    tags: list[str]
    asDropdown: bool
    targetBlank: bool
    includeVars: bool
    keepTime: bool


class Time(Strict):
    from_: str = Field(alias="from", pattern=r"^now-\d+[mhd]$|^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
    to: str = Field(pattern=r"^now$|^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")


class Dashboard(Strict):
    uid: Uid
    title: str = Field(min_length=1)
    description: str
    tags: list[str]
    timezone: Literal["browser", "utc"]
    editable: bool
    style: Literal["dark"]
    graphTooltip: Literal[0, 1, 2]
    time: Time
    fiscalYearStartMonth: Literal[0]
    refresh: str
    schemaVersion: Literal[36]
    panels: list[Annotated[Panel | Row, Field(discriminator="type")]]
    templating: Templating
    annotations: Annotations
    links: list[Link]

    @model_validator(mode="after")
    def _whole(self) -> Dashboard:
        ids = [panel.id for panel in self.panels]
        if len(set(ids)) < len(ids):
            raise ValueError("two panels have the same id")
        names = [variable.name for variable in self.templating.list]
        if len(set(names)) < len(names):
            raise ValueError("two variables have the same name")
        several = {v.name for v in self.templating.list if v.multi}
        for panel in self.panels:
            if panel.repeat is not None and panel.repeat not in several:
                raise ValueError(f"{panel.title} repeats by {panel.repeat}, of which only one value can be chosen")
        taken: dict[tuple[int, int], str] = {}
        for panel in self.panels:
            place = panel.gridPos
            for cell in ((x, y) for x in range(place.x, place.x + place.w) for y in range(place.y, place.y + place.h)):
                if cell in taken:
                    raise ValueError(f"{panel.title} covers {taken[cell]} at {cell}")
                taken[cell] = panel.title
        return self


DURATION = r"^(0|([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?)$"
"""Prometheus' model.ParseDuration; the empty text is an error there."""


class RelativeTimeRange(Strict):
    from_: int = Field(alias="from", gt=0)
    to: Literal[0]


class InfluxModel(Strict):
    datasource: DataSource
    query: str = Field(min_length=20)
    rawQuery: Literal[True]
    refId: Word
    resultFormat: Literal["time_series"]
    intervalMs: int = Field(ge=1)
    maxDataPoints: int = Field(ge=1)


class ExpressionSource(Strict):
    type: Literal["__expr__"]
    uid: Literal["__expr__"]


class ReduceModel(Strict):
    type: Literal["reduce"]
    refId: Word
    datasource: ExpressionSource
    expression: Word
    reducer: Literal["last", "max", "min", "mean", "sum", "count"]


class MathModel(Strict):
    type: Literal["math"]
    refId: Word
    datasource: ExpressionSource
    expression: str = Field(pattern=r"^\$\{\w+\} > [0-9.]+$")


class Step(Strict):
    refId: Word
    datasourceUid: Literal["ncp-influxdb", "__expr__"]
    relativeTimeRange: RelativeTimeRange
    model: InfluxModel | ReduceModel | MathModel

    @model_validator(mode="after")
    def _agrees(self) -> Step:
        if self.model.refId != self.refId or self.model.datasource.uid != self.datasourceUid:
            raise ValueError(f"{self.refId}: the model has another refId or data source")
        return self

    def needs(self) -> list[str]:
        """The steps that this one reads."""
        if isinstance(self.model, InfluxModel):
            return []
        found = re.findall(r"\$\{(\w+)\}", self.model.expression)
        return found or [self.model.expression]


Template = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^$]+$")]
"""Grafana replaces $NAME by its environment in these."""


class Rule(Strict):
    uid: Uid
    title: str = Field(min_length=1, max_length=190)
    condition: Word
    data: list[Step] = Field(min_length=1)
    noDataState: Literal["Alerting", "NoData", "OK"]
    execErrState: Literal["Alerting", "Error", "OK"]
    for_: str = Field(alias="for", pattern=DURATION, min_length=1)
    annotations: dict[str, Template]
    labels: dict[str, Template]

    @model_validator(mode="after")
    def _whole(self) -> Rule:
        known: list[str] = []
        for step in self.data:
            if missing := set(step.needs()) - set(known):
                raise ValueError(f"{step.refId} reads {missing}, which no earlier step gives")
            known.append(step.refId)
        if len(set(known)) < len(known):
            raise ValueError("two steps have the same refId")
        if self.condition not in known:
            raise ValueError(f"the condition {self.condition} is no step")
        return self


class Group(Strict):
    orgId: Literal[1]
    name: str = Field(min_length=1)
    folder: str = Field(min_length=1)
    interval: Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]*0s$|^[1-9][0-9]*m$")]
    """A multiple of the scheduler's ten seconds."""
    rules: list[Rule]


class AlertFile(Strict):
    apiVersion: Literal[1]
    groups: list[Group]

    @model_validator(mode="after")
    def _unique(self) -> AlertFile:
        uids = [rule.uid for group in self.groups for rule in group.rules]
        titles = [rule.title for group in self.groups for rule in group.rules]
        if len(set(uids)) < len(uids) or len(set(titles)) < len(titles):
            raise ValueError("two rules have the same uid or title")
        return self
