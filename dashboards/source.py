"""The data source, and a panel's query to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grafana_foundation_sdk.cog import builder as cogbuilder
from grafana_foundation_sdk.cog import variants
from grafana_foundation_sdk.models.dashboard import DataSourceRef

TYPE, UID = "influxdb", "ncp-influxdb"

REFERENCE = DataSourceRef(type_val=TYPE, uid=UID)


@dataclass
class InfluxQuery(variants.Dataquery):
    """A query in Grafana's terms. ``alias`` names the series: ``$tag_<tag>`` stands for a tag's value."""

    query: str
    ref_id: str
    alias: str = ""
    result_format: Literal["time_series", "table"] = "time_series"

    def to_json(self) -> dict[str, object]:
        """Grafana's JSON. The keys other than ``query`` make its editor open in text mode."""
        named = {"alias": self.alias} if self.alias else {}
        return {
            "datasource": {"type": TYPE, "uid": UID},
            "query": self.query,
            "rawQuery": True,
            "refId": self.ref_id,
            "resultFormat": self.result_format,
            **named,
        }


@dataclass
class Target(cogbuilder.Builder[variants.Dataquery]):
    """A query as the builders of panels take it."""

    query: InfluxQuery

    def build(self) -> variants.Dataquery:
        """The query."""
        return self.query


def targets(*queries: tuple[str, str]) -> list[cogbuilder.Builder[variants.Dataquery]]:
    """Queries with their aliases, as A, B, …"""
    return [Target(InfluxQuery(query, chr(ord("A") + i), alias)) for i, (query, alias) in enumerate(queries)]


def table(query: str) -> cogbuilder.Builder[variants.Dataquery]:
    """A query whose points are rows."""
    return Target(InfluxQuery(query, "A", result_format="table"))
