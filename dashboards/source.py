"""The data source, and queries to it as Grafana's JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from testbed.series import named
from testbed.series.influxql import select_dashboard
from testbed.series.one_clock import on_one_clock

TYPE, UID = "influxdb", "ncp-influxdb"

REFERENCE = {"type": TYPE, "uid": UID}


def target(query: str, ref_id: str = "A", alias: str = "", *, rows: bool = False) -> dict[str, Any]:
    """A query in Grafana's JSON. Keys other than ``query`` make Grafana's editor open in text mode.

    ``alias`` names the series: ``$tag_<tag>`` stands for a tag's value. With ``rows`` points are rows of a table.
    """
    return {
        "datasource": REFERENCE,
        "query": query,
        "rawQuery": True,
        "refId": ref_id,
        "resultFormat": "table" if rows else "time_series",
        **({"alias": alias} if alias else {}),
    }


@dataclass(frozen=True)
class Curve:
    """A query of a plot: the series' names and their unit; ``expected`` is the word before the names of expectations,
    or "low" and "high" for the edges of a band; ``soft_most`` is what the axis shows at the least."""

    query: str
    alias: str
    unit: str
    expected: str = ""
    soft_most: float | None = None


@dataclass(frozen=True)
class Curves:
    """Curves of one kind of thing (connections, links, …), on the common clock.

    ``variables`` restrict them, ``by`` lists the tags that distinguish them besides the series' own.
    """

    variables: tuple[str, ...]
    by: tuple[str, ...] = ()
    alias: str = ""
    function: str = "mean"

    def of(self, name: str, expected: str = "", *, function: str = "") -> Curve:
        """The curve of a series of the catalogue; ``function`` is as in ``select_dashboard``."""
        series, function = named(name), function or self.function
        query = select_dashboard(on_one_clock(series), self.variables, function=function, by=self.by)
        alias = f"{expected} {self.alias}".strip()
        if function == "rate":  # of something that seldom happens: one in a while is not to fill the plot
            return Curve(query, alias, f"{series.unit}/s", expected, soft_most=10)
        return Curve(query, alias, series.unit, expected)
