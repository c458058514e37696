"""A thin typed client for the 1.x API of InfluxDB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
from influxdb import InfluxDBClient
from influxdb.exceptions import InfluxDBClientError, InfluxDBServerError

from testbed.errors import RunFailed
from testbed.series.influxql import tag_is
from testbed.services.influx.endpoint import Endpoint, Role

LINES_PER_BATCH = 5000
TIMEOUT_S = 60


class QueryFailed(RunFailed):
    """InfluxDB did not answer a query or refused it."""


class NoAnswer(QueryFailed):
    """InfluxDB did not answer."""


@dataclass(frozen=True)
class Series:
    """One series of an answer: a measurement, its GROUP BY tags, and columns of equal length.

    The column ``time`` holds Unix nanoseconds as ints; a value that a point lacks is None.
    """

    name: str
    tags: dict[str, str]
    columns: dict[str, list[Any]]


def connect(endpoint: Endpoint, role: Role, timeout_s: int = TIMEOUT_S, retries: int = 2) -> InfluxDBClient:
    """A client of the API with the rights of a role, for the testbed's database."""
    login, address = endpoint.logins[role], urlsplit(endpoint.url)
    return InfluxDBClient(
        address.hostname,
        address.port or 8086,
        login.username,
        login.password,
        endpoint.database,
        ssl=address.scheme == "https",
        verify_ssl=True,
        timeout=timeout_s,
        retries=retries,
    )


class Client:
    """Reads and writes the testbed's database with the rights of one role.

    Every method raises ``QueryFailed`` when the server does not answer or refuses.
    """

    def __init__(self, endpoint: Endpoint, role: Role) -> None:
        self._url = endpoint.url
        self._client = connect(endpoint, role)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def query(self, influxql: str, *, method: str = "GET") -> list[Series]:
        """Answer of one statement."""
        with self._reported(f"query: {influxql}"):
            answer = self._client.query(influxql, epoch="ns", method=method)
        return [
            Series(
                raw.get("name", ""),
                raw.get("tags", {}),
                {column: [row[place] for row in raw.get("values", ())] for place, column in enumerate(raw["columns"])},
            )
            for raw in answer.raw.get("series", ())
        ]

    def execute(self, influxql: str) -> None:
        """A statement that changes something. The role must be allowed to."""
        self.query(influxql, method="POST")

    def write(self, lines: Iterable[str], retention: str = "") -> None:
        """Write points in line protocol with nanosecond timestamps.

        ``retention`` is the retention policy, "" for the database's default.
        """
        options = {"retention_policy": retention or None, "batch_size": LINES_PER_BATCH, "protocol": "line"}
        with self._reported("a write"):
            self._client.write_points(lines, "n", **options)

    def delete_run(self, run: str) -> None:
        """Remove every point of a run. The role must be allowed to write."""
        self.execute(f"DROP SERIES FROM /.*/ WHERE {tag_is('run', run)}")

    @contextmanager
    def _reported(self, request: str) -> Iterator[None]:
        """Raise what is wrong with a request as QueryFailed."""
        try:
            yield
        except requests.RequestException as error:
            raise NoAnswer(
                "influx.no-answer",
                f"InfluxDB at {self._url} does not answer: {error} ({request})",
                "./run.sh doctor tells whether it is there. A run's telemetry.lp has all its points.",
            ) from error
        except (InfluxDBClientError, InfluxDBServerError) as error:
            raise QueryFailed("influx.request-failed", f"InfluxDB at {self._url}: {error} ({request})") from error
