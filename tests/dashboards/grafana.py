"""What Grafana does with a dashboard's queries before they reach InfluxDB, and with the answers.

After templateSrv and formatRegistry (public/app/features/templating), rangeutil's intervals (packages/grafana-data)
and the InfluxDB data source: its front end (Grafana 9.3) and its back end (later, and all alert rules).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from testbed.services.influx.client import Client

Values = Sequence[str] | str

ALL = "$__all"

_ROUND_MS = [
    (10, 1),
    (15, 10),
    (35, 20),
    (75, 50),
    (150, 100),
    (350, 200),
    (750, 500),
    (1_500, 1_000),
    (3_500, 2_000),
    (7_500, 5_000),
    (12_500, 10_000),
    (17_500, 15_000),
    (25_000, 20_000),
    (45_000, 30_000),
    (90_000, 60_000),
    (210_000, 120_000),
    (450_000, 300_000),
    (750_000, 600_000),
    (1_050_000, 900_000),
    (1_500_000, 1_200_000),
    (2_700_000, 1_800_000),
    (5_400_000, 3_600_000),
    (9_000_000, 7_200_000),
    (16_200_000, 10_800_000),
    (32_400_000, 21_600_000),
    (86_400_000, 43_200_000),
    (604_800_000, 86_400_000),
]
"""An interval below the first is rounded to the second."""


@dataclass(frozen=True)
class Span:
    """A dashboard's span of time. ``relative`` is what was chosen (``now-15m``), if it was not two instants."""

    from_ms: int
    to_ms: int
    relative: str = ""

    def filter(self) -> str:
        """``$timeFilter``."""
        if self.relative:
            return f"time >= now() - {self.relative.removeprefix('now-')} and time <= now()"
        return f"time >= {self.from_ms}ms and time <= {self.to_ms}ms"

    def interval(self, width_px: int, least_ms: int = 100) -> str:
        """``$__interval`` for a panel as wide as that: a point for each pixel at most."""
        exact = (self.to_ms - self.from_ms) / width_px
        rounded = next((to for below, to in _ROUND_MS if exact < below), 604_800_000)
        milliseconds = max(rounded, least_ms)
        for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)):
            if milliseconds % size == 0:
                return f"{milliseconds // size}{unit}"
        return f"{milliseconds}ms"


def escaped(text: str) -> str:
    """As ``${name:regex}`` escapes."""
    return re.sub(r"[\\^$*+?.()|\[\]{}/]", lambda found: "\\" + found.group(), text)


@dataclass
class Variables:
    """The variables of a dashboard: what is chosen, and what stands for all."""

    chosen: dict[str, Values] = field(default_factory=dict)
    all_values: dict[str, str] = field(default_factory=dict)

    def but(self, **changes: Values) -> Variables:
        """With other values, as in a repeated panel."""
        return Variables({**self.chosen, **changes}, self.all_values)

    def text_of(self, name: str, form: str) -> str:
        value = self.chosen[name]
        if value == ALL or list(value) == [ALL]:
            return self.all_values[name]  # as it is, whatever the format
        if form == "regex":
            if isinstance(value, str):
                return escaped(value)
            parts = [escaped(part) for part in value]
            return parts[0] if len(parts) == 1 else f"({'|'.join(parts)})"
        return value if isinstance(value, str) else f"{{{','.join(value)}}}"

    def replace(self, text: str, form: str = "") -> str:
        """``$name``, ``${name}``, ``${name:format}`` and ``[[name]]``; what is no variable stays. ``form`` is the
        format of those without one."""

        def one(found: re.Match[str]) -> str:
            name = found["braced"] or found["bare"] or found["old"]
            return self.text_of(name, found["form"] or form) if name in self.chosen else found.group()

        pattern = r"\$\{(?P<braced>\w+)(?::(?P<form>\w+))?\}|\$(?P<bare>\w+)|\[\[(?P<old>\w+)\]\]"
        return re.sub(pattern, one, text)


def interpolate(query: str, variables: Variables, span: Span, width_px: int = 590) -> str:
    """The query as it reaches InfluxDB."""
    text = query.replace("$timeFilter", span.filter()).replace("$__interval", span.interval(width_px))
    return variables.replace(text)


def opened(board: Mapping[str, Any], client: Client, now_ms: int, url: Mapping[str, Values] | None = None) -> Variables:
    """The variables as they are when somebody opens the dashboard at ``now_ms`` by a link with these values: each
    queried in turn; what is not given is the first value, or all where that is possible."""
    variables = Variables({"__to": str(now_ms), "__from": str(now_ms - 900_000)})
    for variable in board["templating"]["list"]:
        name = variable["name"]
        variables.all_values[name] = variable.get("allValue") or ""
        if url and name in url:
            variables.chosen[name] = url[name]
        elif variable["type"] == "custom":
            variables.chosen[name] = [variable["current"]["value"]]
        elif variable["type"] == "textbox":
            variables.chosen[name] = variable["query"]
        elif variable.get("includeAll"):
            variables.chosen[name] = [ALL]
        else:
            offered = values_of(variable, variables, client)
            default = variable.get("current", {}).get("value")
            first = default if default in offered else offered[0] if offered else ""
            variables.chosen[name] = [first] if variable.get("multi") else first
    return variables


def values_of(variable: Mapping[str, Any], variables: Variables, client: Client) -> list[str]:
    """What a variable offers: the first column of the answer after its time, without repetitions, in the variable's
    order; of each the part that its regular expression takes, or the group ``value`` of it."""
    found: dict[str, None] = {}
    for part in client.query(variables.replace(variable["query"], "regex")):
        name = "value" if "value" in part.columns else next(c for c in part.columns if c != "time")
        found |= {str(value): None for value in part.columns[name] if value is not None}
    if pattern := variable.get("regex"):
        taken = (re.search(pattern.strip("/").replace("(?<", "(?P<"), value) for value in found)
        found = {match.groupdict().get("value", match[1]): None for match in taken if match}
    order = variable["sort"]
    if order in (3, 4):
        return sorted(found, key=lambda text: (int(re.sub(r"\D", "", text) or 0), text), reverse=order == 4)
    return list(found) if order == 0 else sorted(found, reverse=order == 2)


def span_of_panel(panel: Mapping[str, Any], variables: Variables, page: Span, now_ms: int) -> Span:
    """The span that a panel queries: the page's, or its own (public/app/features/dashboard/utils/panel.ts).

    A duration of its own counts only while the page's span is relative; a shift that is none leaves it alone.
    """
    found = page
    if "timeFrom" in panel:
        own = re.match(r"(\d+)s$", variables.replace(panel["timeFrom"]))
        assert own, f"{panel['title']}: invalid time override"
        if page.relative:
            found = Span(now_ms - int(own[1]) * 1000, now_ms)
    shift = re.match(r"(\d+)s$", variables.replace(panel.get("timeShift", "")))
    if shift:
        found = Span(found.from_ms - int(shift[1]) * 1000, found.to_ms - int(shift[1]) * 1000)
    return found


def series_name(alias: str, tags: Mapping[str, str]) -> str:
    """A series' name by its target's alias."""
    return re.sub(r"\$tag_(\w+)", lambda found: tags[found[1]], alias)


def menu(
    link: Mapping[str, Any], board: Mapping[str, Any], variables: Variables, page: Span, boards: Mapping[str, Any]
) -> dict[str, str]:
    """The addresses that a menu of dashboards leads to, by the dashboards' names (public/app/features/panel/
    panellinks/link_srv.ts)."""
    query = []
    if link["includeVars"]:
        for variable in board["templating"]["list"]:
            if not variable["skipUrlSync"]:
                value = variables.chosen[variable["name"]]
                each = [value] if isinstance(value, str) else value
                query += [(f"var-{variable['name']}", "All" if one == ALL else one) for one in each]
    if link["keepTime"]:
        query += [("from", page.relative or str(page.from_ms)), ("to", "now" if page.relative else str(page.to_ms))]
    return {
        name: f"/d/{target['uid']}?{urlencode(query)}"
        for name, target in boards.items()
        if set(link["tags"]) & set(target["tags"])
    }


def of_row(url: str, row: Mapping[str, Any], variables: Variables) -> str:
    """The address behind a cell of a table's row."""
    return variables.replace(re.sub(r"\$\{__data\.fields\.(\w+)\}", lambda found: str(row[found[1]]), url))


def arrive(
    url: str, boards: Mapping[str, Any], client: Client, now_ms: int
) -> tuple[str, Mapping[str, Any], Variables, Span]:
    """The page that an address leads to: the dashboard's name, the dashboard, its variables and its span. Every value
    has to be one that the variable offers."""
    parts = urlsplit(url)
    given = parse_qs(parts.query, keep_blank_values=True)
    (name,) = (name for name, board in boards.items() if parts.path == f"/d/{board['uid']}")
    board = boards[name]
    chosen: dict[str, Values] = {}
    for variable in board["templating"]["list"]:
        values = given.get(f"var-{variable['name']}")
        if values and not variable["skipUrlSync"]:
            several = variable.get("multi", False)
            every = variable.get("includeAll") and values in (["All"], [ALL])
            assert several or len(values) == 1, f"{url}: {variable['name']} takes one value"
            chosen[variable["name"]] = [ALL] if every else values if several else values[0]
    variables = opened(board, client, now_ms, chosen)
    for variable in board["templating"]["list"]:
        value = variables.chosen[variable["name"]]
        if variable["name"] in chosen and variable["type"] == "query" and value != [ALL]:
            offered = values_of(variable, variables, client)
            assert set([value] if isinstance(value, str) else value) <= set(offered), f"{url}: {variable['name']}"
    return name, board, variables, span_of_page(given.get("from", [board["time"]["from"]])[0], given, now_ms)


def span_of_page(from_: str, given: Mapping[str, Sequence[str]], now_ms: int) -> Span:
    """A page's span: ``now-15m`` and the like, or two instants in milliseconds."""
    if found := re.fullmatch(r"now-(\d+)([md])", from_):
        return Span(now_ms - int(found[1]) * {"m": 60_000, "d": 86_400_000}[found[2]], now_ms, from_)
    return Span(int(from_), int(given["to"][0]))
