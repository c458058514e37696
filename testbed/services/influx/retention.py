"""Retention policies of the database, and its continuous queries.

Runs' points for 90 days, in the default retention policy; what nightly runs are compared by for ever, in the policy
``history``, where two continuous queries sum up each day; the latest runs once more on one clock, in ``one_clock``.
"""

from __future__ import annotations

from influxdb import InfluxDBClient
from influxdb.exceptions import InfluxDBClientError

from testbed.series import influxql
from testbed.series.one_clock import RETENTION as ONE_CLOCK

HISTORY = "history"
RAW_DAYS = 90

_DAY_OF_VERDICTS = (
    'SELECT count("passed") AS "runs", sum("passed") AS "passed", sum("trusted") AS "trusted", '
    'mean("duration_s") AS "duration_s"'
)
_DAY_OF_FIGURES = (
    'SELECT count("measured") AS "runs", mean("measured") AS "measured", min("measured") AS "lowest", '
    'max("measured") AS "highest"'
)


def set_up(client: InfluxDBClient, database: str, *, shorten: bool) -> None:
    """Make policies and continuous queries as they should be, whatever is there already.

    With ``shorten`` the default policy keeps points for 90 days from now on; a database that somebody else made
    keeps them as long as it did.
    """
    if shorten:
        client.alter_retention_policy("autogen", database, duration=f"{RAW_DAYS}d", shard_duration="7d")
    present = {policy["name"] for policy in client.get_list_retention_policies(database)}
    for policy in (HISTORY, ONE_CLOCK):
        if policy not in present:
            client.create_retention_policy(policy, "INF", "1", database, shard_duration="52w")
    if shorten and "compared" in present:  # what the policy one_clock has taken the place of
        client.drop_retention_policy("compared", database)
    for name, statement in continuous_queries(database).items():
        _make_query(client, database, name, statement)


def continuous_queries(database: str) -> dict[str, str]:
    """The statements by name. Each looks at two days: a run may end after midnight, or be written late."""
    place = f"{influxql.identifier(database)}.{influxql.identifier(HISTORY)}"
    found = {}
    for name, select, source, target in (
        ("daily_verdicts", _DAY_OF_VERDICTS, "run_verdict", "verdict_daily"),
        ("daily_key_figures", _DAY_OF_FIGURES, "key_figure", "key_figure_daily"),
    ):
        found[name] = (
            f"CREATE CONTINUOUS QUERY {influxql.identifier(name)} ON {influxql.identifier(database)} "
            f"RESAMPLE EVERY 1h FOR 2d BEGIN "
            f"{select} INTO {place}.{influxql.identifier(target)} FROM {place}.{influxql.identifier(source)} "
            "GROUP BY time(1d), * END"
        )
    return found


def _make_query(client: InfluxDBClient, database: str, name: str, statement: str) -> None:
    """A query that is there already with the same text is left alone; one with another text is replaced."""
    try:
        client.query(statement, method="POST")
    except InfluxDBClientError as error:
        if "already exists" not in str(error):
            raise
        client.query(
            f"DROP CONTINUOUS QUERY {influxql.identifier(name)} ON {influxql.identifier(database)}", method="POST"
        )
        client.query(statement, method="POST")
