"""Series of what is kept for ever: a verdict and the key figures of every run, without the run as a tag."""

from testbed.series.series import Series, Table

RETENTION = "history"

_VERDICT, _FIGURE = "run_verdict", "key_figure"

PASSED = Series("history_passed", _VERDICT, "passed", "scenario", "Passed", "", (), RETENTION)
DURATION = Series("history_duration_s", _VERDICT, "duration_s", "scenario", "Transfer", "s", (), RETENTION)
OF_EXPECTED = Series(
    "history_of_expected", _FIGURE, "of_expected", "figure", "In parts of what is expected", "", (), RETENTION
)
GOODPUT = Series(
    "history_goodput_bps", _FIGURE, "measured", "session", "Goodput", "bit/s", (("figure", "goodput_bps"),), RETENTION
)
DAILY_PASSED = Series("daily_passed", "verdict_daily", "passed", "engine", "Passed in a day", "runs", (), RETENTION)
DAILY_RUNS = Series("daily_runs", "verdict_daily", "runs", "engine", "Runs in a day", "runs", (), RETENTION)

VERDICTS = Table(
    _VERDICT,
    ("scenario", "policy", "engine", "variant", "run_id", "verdict", "duration_s", "summary"),
    retention=RETENTION,
)
"""Results of runs, in words."""
