"""The client against a real server: what is written can be read, counted and deleted, run by run."""

import time

import pytest

from testbed.series.influxql import tag_is
from testbed.services.influx.client import LINES_PER_BATCH, Client, QueryFailed
from testbed.services.influx.endpoint import Endpoint
from testbed.services.influx.reader import FromInflux

pytestmark = pytest.mark.root

NOW = time.time_ns()
"""The database keeps what is of the present."""


def test_points_are_counted_as_lines_not_as_field_values(endpoint: Endpoint) -> None:
    lines = [
        f"ncp_connection,run=a,role=sender sent=1i,rtt_ms=2.5 {NOW}",
        f"ncp_connection,run=a,role=sender sent=2i {NOW + 1000}",  # lacks a field
        f"ncp_connection,run=a,role=receiver delivered_pps=3 {NOW}",  # other tags, same time
        f'event,run=a,kind=transfer_start text="x" {NOW}',
        f"ncp_connection,run=b,role=sender sent=1i {NOW}",
    ]
    with Client(endpoint, "admin") as client:
        client.write(lines)
        assert FromInflux(client, "a").count_points() == 4
        client.delete_run("a")
        assert FromInflux(client, "a").count_points() == 0
        assert FromInflux(client, "b").count_points() == 1


def test_series_have_their_tags_exact_times_and_gaps(endpoint: Endpoint) -> None:
    time_ns = NOW
    with Client(endpoint, "admin") as client:
        client.write(
            [f"link,run=a,link=fast rate_bps=1.5,drops=7i {time_ns}", f"link,run=a,link=fast drops=8i {time_ns + 1}"]
        )
        (series,) = client.query("SELECT rate_bps, drops FROM link WHERE run = 'a' GROUP BY link")
    assert series.name == "link"
    assert series.tags == {"link": "fast"}
    assert series.columns["time"] == [time_ns, time_ns + 1]
    assert series.columns["drops"] == [7, 8]
    assert series.columns["rate_bps"] == [1.5, None]


def test_more_points_than_one_batch_or_one_answer_holds(endpoint: Endpoint) -> None:
    count = 2 * LINES_PER_BATCH + 1
    with Client(endpoint, "admin") as client:
        client.write(f"m,run=a v={i}i {NOW + i}" for i in range(count))
        assert FromInflux(client, "a").count_points() == count
        (series,) = client.query("SELECT v FROM m")
    assert series.columns["v"] == list(range(count))


def test_a_quote_in_a_run_stays_text(endpoint: Endpoint) -> None:
    quoted = "x' OR run = 'a"
    with Client(endpoint, "admin") as client:
        client.write([f"m,run=a v=1 {NOW}"])
        assert client.query(f"SELECT v FROM m WHERE {tag_is('run', quoted)}") == []
        client.delete_run(quoted)
        assert FromInflux(client, "a").count_points() == 1
        assert FromInflux(client, quoted).count_points() == 0


def test_a_refused_query_or_write_names_the_server(endpoint: Endpoint) -> None:
    with Client(endpoint, "admin") as client:
        with pytest.raises(QueryFailed, match=endpoint.url):
            client.query("SELECT FROM")
        with pytest.raises(QueryFailed, match="unable to parse"):
            client.write(["not line protocol"])
