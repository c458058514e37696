"""Alert rules, as Grafana provisions them.

Grafana replaces $NAME in provisioned texts by the environment, but for a rule's queries and expressions. Messages
therefore use ``.Labels`` and ``.Values``, not ``$labels`` and ``$values``.
"""

from typing import Any

from dashboards import source
from dashboards.document import uid_of
from testbed.series import influxql, named

FOLDER = "NCP testbed"

EXPRESSION_UID = "__expr__"


def _last(series: str, by: tuple[str, ...], *conditions: str) -> str:
    return influxql.select_dashboard(named(series), function="last", conditions=conditions, by=by, every="")


def _value(name: str, form: str) -> str:
    return f'{{{{ printf "{form}" .Values.{name}_last.Value }}}}'


_RUN_NAMED = "{{ .Labels.scenario }}, policy {{ .Labels.policy }}, run {{ .Labels.run }}"
_CONVERGES = influxql.tag_is_one_of("judge", ("follows_law", "settles", "ratio"))
_JUDGED = '"status" = \'fail\' AND "trusted" = 1'
"""Condition of a check that tells about windows: it was judged, in a run that can be trusted."""
_NIGHTLY = influxql.tag_is("occasion", "nightly")
_RUN = ("scenario", "policy", "run")
_LINK = (*_RUN, "direction")


def _rule(
    uid: str,
    title: str,
    figures: dict[str, str],
    above: float,
    message: str,
    *,
    dashboard: str = "convergence",
    severity: str = "warning",
    last_s: int = 3600,
) -> dict[str, Any]:
    """Rule of one alert: it fires for every group whose first figure is above ``above``.

    ``figures`` are queries by name, of which the newest value counts. ``message`` is Go template text for such a group;
    a figure's value is ``{{ .Values.<name>_last.Value }}``.
    """
    first = next(iter(figures))
    models = [
        *(
            {**source.target(query, name), "intervalMs": 1000, "maxDataPoints": 43200}
            for name, query in figures.items()
        ),
        *(_expression(f"{name}_last", "reduce", name, reducer="last") for name in figures),
        _expression("condition", "math", f"${{{first}_last}} > {above:g}"),
    ]
    # Grafana shows the summary of every group, also of one that does not fire, and once without labels where there is
    # none.
    summary = (
        f"{{{{ if .Labels.run }}}}{{{{ if gt .Values.{first}_last.Value {float(above)} }}}}{message}"
        f"{{{{ else }}}}{_RUN_NAMED}: nothing to tell.{{{{ end }}}}{{{{ else }}}}No run to tell of.{{{{ end }}}}"
    )
    return {
        "uid": uid,
        "title": title,
        "condition": "condition",
        "data": [_step(model, last_s) for model in models],
        # Most of the time no run is on, and then there is nothing to tell.
        "noDataState": "OK",
        "execErrState": "Error",
        "for": "0s",
        "annotations": {
            "summary": summary,
            # The run's own page; Grafana adds its address where it sends the message. A rule that names a panel puts a
            # broken heart on it, whichever run it shows.
            "page": f"/d/{uid_of(dashboard)}{{{{ if .Labels.run }}}}?var-run={{{{ .Labels.run }}}}{{{{ end }}}}",
        },
        "labels": {"severity": severity, "testbed": "ncp"},
    }


def _expression(name: str, kind: str, expression: str, **options: str) -> dict[str, Any]:
    datasource = {"type": EXPRESSION_UID, "uid": EXPRESSION_UID}
    return {"refId": name, "datasource": datasource, "type": kind, "expression": expression, **options}


def _step(model: dict[str, Any], last_s: int) -> dict[str, Any]:
    return {
        "refId": model["refId"],
        "datasourceUid": model["datasource"]["uid"],
        "relativeTimeRange": {"from": last_s, "to": 0},
        "model": model,
    }


RULES = [
    _rule(
        "ncp-not-converged",
        "Not converged",
        {"failed": _last("check_failed", (*_RUN, "measures", "expects", "unit"), _CONVERGES, _JUDGED)},
        0,
        f"{_RUN_NAMED}: the check “{{{{ .Labels.check }}}}” fails. Measured {{{{ .Labels.measures }}}}, expected "
        "{{ .Labels.expects }} (unit: {{ .Labels.unit }}).",
    ),
    _rule(
        "ncp-broke-down",
        "Run broke down",
        {"broken": _last("verdict_broken", (*_RUN, "occasion"))},
        0,
        f"{_RUN_NAMED} ({{{{ .Labels.occasion }}}}): it broke down before it could be judged. Its report says why.",
    ),
    _rule(
        "ncp-link-off",
        "Link off calibration",
        {
            "oflimit": _last("calibration_of_limit", _LINK),
            "rate": _last("calibration_rate_bps", _LINK),
            "rateasked": _last("calibration_rate_bps_asked", _LINK),
            "delay": _last("calibration_delay_ms", _LINK),
            "delayasked": _last("calibration_delay_ms_asked", _LINK),
        },
        1,
        f"{_RUN_NAMED}: link {{{{ .Labels.link }}}} {{{{ .Labels.direction }}}} is off by {_value('oflimit', '%.1f')} "
        f"times what is allowed. Measured {_value('rate', '%.0f')} bit/s and {_value('delay', '%.2f')} ms, expected "
        f"{_value('rateasked', '%.0f')} bit/s and {_value('delayasked', '%.2f')} ms.",
        dashboard="links",
    ),
    _rule(
        "ncp-telemetry-lag",
        "Telemetry lags",
        {"lag": _last("telemetry_lag_ms", _RUN)},
        5000,
        f"{_RUN_NAMED}: the database is behind. Measured {_value('lag', '%.0f')} ms, expected at most 5000 ms. Nothing "
        "is lost: the samples are in the run's files until it takes them.",
        last_s=60,
    ),
    _rule(
        "ncp-nightly-fail",
        "Nightly run does not pass",
        {"notpassed": _last("verdict_not_passed", _RUN, _NIGHTLY), "checks": _last("verdict_failed", _RUN, _NIGHTLY)},
        0,
        f"{_RUN_NAMED}: the nightly run did not pass. {{{{ if gt .Values.checks_last.Value 0.0 }}}}Measured "
        f"{_value('checks', '%.0f')} failed checks, expected none.{{{{ else }}}}It is not to be trusted.{{{{ end }}}}",
        severity="critical",
        last_s=86400,
    ),
]

DOCUMENT: dict[str, Any] = {
    "apiVersion": 1,
    "groups": [{"orgId": 1, "name": "ncp-testbed", "folder": FOLDER, "interval": "30s", "rules": RULES}],
}
"""The content of the file."""
