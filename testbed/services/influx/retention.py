"""Retention policies of the database, and its continuous queries.

Runs' points for 90 days, in the default retention policy; what nightly runs are compared by for ever, in the policy
``history``, where two continuous queries sum up each day; the listed runs once more on one clock, in ``one_clock``.
"""

from influxdb import InfluxDBClient
from influxdb.exceptions import InfluxDBClientError

from testbed.series import influxql
from testbed.series.one_clock import RETENTION as ONE_CLOCK

HISTORY = "history"
RAW_DAYS = 90

_DAILY = {
    "daily_verdicts": 'count("passed") AS "runs", sum("passed") AS "passed", sum("trusted") AS "trusted", '
    'mean("duration_s") AS "duration_s" INTO {history}."verdict_daily" FROM {history}."run_verdict"',
    "daily_key_figures": 'count("measured") AS "runs", mean("measured") AS "measured", min("measured") AS "lowest", '
    'max("measured") AS "highest" INTO {history}."key_figure_daily" FROM {history}."key_figure"',
}
"""Fields of each day that continuous queries SELECT, by the queries' names."""


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
    for name, statement in continuous_queries(database).items():
        try:
            client.query(statement, method="POST")
        except InfluxDBClientError as error:  # there is one of the name, with another text
            if "already exists" not in str(error):
                raise
            client.query(f'DROP CONTINUOUS QUERY "{name}" ON {influxql.identifier(database)}', method="POST")
            client.query(statement, method="POST")


def continuous_queries(database: str) -> dict[str, str]:
    """The statements by name. Each looks at two days: a run may end after midnight, or be written late."""
    place = influxql.identifier(database)
    return {
        name: f'CREATE CONTINUOUS QUERY "{name}" ON {place} RESAMPLE EVERY 1h FOR 2d BEGIN '
        f"SELECT {select.format(history=f'{place}.{influxql.identifier(HISTORY)}')} GROUP BY time(1d), * END"
        for name, select in _DAILY.items()
    }
