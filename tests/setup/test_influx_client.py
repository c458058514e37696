"""The client against a real server: what is written can be read, counted and deleted, run by run."""

import math

import numpy as np
import pytest

from testbed import influx
from testbed.influx.client import LINES_PER_BATCH, QueryFailed

pytestmark = pytest.mark.emulation


def test_points_are_counted_as_lines_not_as_field_values(endpoint: influx.Endpoint) -> None:
    lines = [
        "ncp_connection,run=a,role=sender sent=1i,rtt_ms=2.5 1000",
        "ncp_connection,run=a,role=sender sent=2i 2000",  # lacks a field
        "ncp_connection,run=a,role=receiver delivered_pps=3 1000",  # other tags, same time
        'event,run=a,kind=transfer_start text="x" 1000',
        "ncp_connection,run=b,role=sender sent=1i 1000",
    ]
    with influx.Client(endpoint, "admin") as client:
        client.write(lines)
        assert client.count_points("a") == {"ncp_connection": 3, "event": 1}
        client.delete_run("a")
        assert client.count_points("a") == {}
        assert client.count_points("b") == {"ncp_connection": 1}


def test_series_have_their_tags_exact_times_and_gaps(endpoint: influx.Endpoint) -> None:
    time_ns = 1795233120123456789
    with influx.Client(endpoint, "admin") as client:
        client.write(
            [
                f"link,run=a,link=fast rate_bps=1.5,drops=7i {time_ns}",
                f"link,run=a,link=fast drops=8i {time_ns + 1}",
            ]
        )
        (series,) = client.query("SELECT rate_bps, drops FROM link WHERE run = $run GROUP BY link", run="a")
    assert series.name == "link"
    assert series.tags == {"link": "fast"}
    assert series.times_ns().tolist() == [time_ns, time_ns + 1]
    assert series.columns["drops"] == [7, 8]
    rates = series.values("rate_bps")
    assert rates[0] == 1.5
    assert math.isnan(rates[1])


def test_more_points_than_one_batch_or_one_answer_holds(endpoint: influx.Endpoint) -> None:
    count = 2 * LINES_PER_BATCH + 1
    with influx.Client(endpoint, "admin") as client:
        assert client.write(f"m,run=a v={i}i {i + 1}" for i in range(count)) == count
        assert client.count_points("a") == {"m": count}
        (series,) = client.query("SELECT v FROM m")
    assert np.array_equal(series.values("v"), np.arange(count))


def test_a_quote_in_a_parameter_stays_text(endpoint: influx.Endpoint) -> None:
    with influx.Client(endpoint, "admin") as client:
        client.write(["m,run=a v=1 1"])
        assert client.count_points("x' OR run = 'a") == {}


def test_a_refused_query_or_write_names_the_server(endpoint: influx.Endpoint) -> None:
    with influx.Client(endpoint, "admin") as client:
        with pytest.raises(QueryFailed, match=endpoint.url):
            client.query("SELECT FROM")
        with pytest.raises(QueryFailed, match="unable to parse"):
            client.write(["not line protocol"])
