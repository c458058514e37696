"""Reads a run's telemetry from InfluxDB, over its v1 query API."""

from collections.abc import Mapping

from testbed.series import influxql
from testbed.series.reader import DERIVED_MEASUREMENTS, Event, Samples, group_order
from testbed.series.series import Series
from testbed.services.influx.client import Client


class FromInflux:
    """The telemetry of one run in the database that ``client`` queries."""

    def __init__(self, client: Client, run: str) -> None:
        self._client = client
        self._run = run

    def read(self, series: Series, where: Mapping[str, str] | None = None) -> dict[str, Samples]:
        """See :meth:`testbed.series.reader.Reader.read`."""
        found: dict[str, Samples] = {}
        for part in self._client.query(influxql.select_run(series, self._run, where)):
            rows = [
                (time, value)
                for time, value in zip(part.columns["time"], part.columns[series.field], strict=True)
                if value is not None and not isinstance(value, (str, bool))
            ]
            if rows:
                group = part.tags[series.group_by]
                found[group] = Samples.of([time for time, _ in rows], [value for _, value in rows])
        return {group: found[group] for group in sorted(found, key=group_order)}

    def events(self) -> list[Event]:
        """See :meth:`testbed.series.reader.Reader.events`."""
        of_run = influxql.tag_is("run", self._run)
        text = f'SELECT "at_s", "text" FROM "event" WHERE {of_run} GROUP BY "kind", "session"'
        found = [
            Event(time, part.tags["kind"], part.tags["session"], description or "")
            for part in self._client.query(text)
            for time, description in zip(part.columns["time"], part.columns["text"], strict=True)
        ]
        return sorted(found)

    def runs(self) -> set[str]:
        """See :meth:`testbed.series.reader.Reader.runs`: it asks for those of one run only."""
        return {self._run}

    def count_points(self) -> int:
        """See :meth:`testbed.series.reader.Reader.count_points`."""
        # Whole rows are requested: count() counts values of one field, and no field is in every point.
        text = f"SELECT * FROM /.*/ WHERE {influxql.tag_is('run', self._run)} GROUP BY *"
        return sum(
            len(part.columns["time"]) for part in self._client.query(text) if part.name not in DERIVED_MEASUREMENTS
        )
