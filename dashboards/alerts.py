"""Alert rules, as Grafana provisions them.

Grafana replaces $NAME in provisioned texts by the environment, but for a rule's queries and expressions. Messages
therefore use ``.Labels`` and ``.Values``, not ``$labels`` and ``$values``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboards import source
from dashboards.document import uid_of
from testbed.series import Series, influxql, named

FOLDER = "NCP testbed"

_CONVERGENCE_JUDGES = ("follows_law", "settles", "ratio")

EXPRESSION_UID = "__expr__"


@dataclass(frozen=True)
class Figure:
    """A number of an alert, by group: a query (``ref_id``) and its newest value (``ref_id`` + "_last")."""

    ref_id: str
    query: str


@dataclass(frozen=True)
class Rule:
    """One alert: it fires for every group whose first figure is above ``above``.

    ``message`` is Go template text for such a group; a figure's value is ``{{ .Values.<ref_id>_last.Value }}``.
    """

    uid: str
    title: str
    figures: tuple[Figure, ...]
    above: float
    message: str
    dashboard: str
    panel: str
    severity: str
    last_s: int = 3600


def _last(series: str | Series, conditions: tuple[str, ...], by: tuple[str, ...]) -> str:
    found = named(series) if isinstance(series, str) else series
    return influxql.select_last(found, conditions, by)


def _value(ref_id: str, form: str = "%.3g") -> str:
    return f'{{{{ printf "{form}" .Values.{ref_id}_last.Value }}}}'


_WHICH = "{{ .Labels.scenario }}, policy {{ .Labels.policy }}, run {{ .Labels.run }}"
_CONVERGES = (influxql.tag_is_one_of("judge", _CONVERGENCE_JUDGES),)
_NIGHTLY = (influxql.tag_is("occasion", "nightly"),)
_RUN = ("scenario", "policy", "run")
_LINK = (*_RUN, "direction")

RULES = (
    Rule(
        "ncp-not-converged",
        "Not converged",
        (Figure("failed", _last("check_failed", _CONVERGES, (*_RUN, "measures", "expects", "unit"))),),
        0,
        f"{_WHICH}: the check “{{{{ .Labels.check }}}}” fails. Measured {{{{ .Labels.measures }}}}, expected "
        "{{ .Labels.expects }} (unit: {{ .Labels.unit }}).",
        "convergence",
        "Window shares and the law",
        "warning",
    ),
    Rule(
        "ncp-broke-down",
        "Run broke down",
        (Figure("broken", _last("verdict_broken", (), (*_RUN, "occasion"))),),
        0,
        f"{_WHICH} ({{{{ .Labels.occasion }}}}): it broke down and was not judged: measured nothing, expected a "
        "verdict. "
        "Its report says why.",
        "convergence",
        "Verdict",
        "warning",
    ),
    Rule(
        "ncp-link-off",
        "Link off calibration",
        (
            Figure("oflimit", _last("calibration_of_limit", (), _LINK)),
            Figure("rate", _last("calibration_rate_bps", (), _LINK)),
            Figure("rateasked", _last("calibration_rate_bps_asked", (), _LINK)),
            Figure("delay", _last("calibration_delay_ms", (), _LINK)),
            Figure("delayasked", _last("calibration_delay_ms_asked", (), _LINK)),
        ),
        1,
        f"{_WHICH}: link {{{{ .Labels.link }}}} {{{{ .Labels.direction }}}} is off by {_value('oflimit', '%.1f')} "
        f"times what is allowed. Measured {_value('rate', '%.0f')} bit/s and {_value('delay', '%.2f')} ms, expected "
        f"{_value('rateasked', '%.0f')} bit/s and {_value('delayasked', '%.2f')} ms.",
        "links",
        "Calibration",
        "warning",
    ),
    Rule(
        "ncp-telemetry-lag",
        "Telemetry lags",
        (Figure("lag", _last("telemetry_lag_ms", (), _RUN)),),
        5000,
        f"{_WHICH}: the database is behind. Measured {_value('lag', '%.0f')} ms, expected at most 5000 ms. Nothing is "
        "lost: the samples are in the run's files until it takes them.",
        "convergence",
        "Database is behind by",
        "warning",
        last_s=60,
    ),
    Rule(
        "ncp-nightly-fail",
        "Nightly run does not pass",
        (
            Figure("notpassed", _last("verdict_not_passed", _NIGHTLY, _RUN)),
            Figure("checks", _last("verdict_failed", _NIGHTLY, _RUN)),
        ),
        0,
        f"{_WHICH}: the nightly run did not pass. Measured {_value('checks', '%.0f')} failed checks (0: it is not to "
        "be "
        "trusted), expected 0 checks.",
        "convergence",
        "Verdict",
        "critical",
        last_s=86400,
    ),
)


def document(panel_ids: dict[str, dict[str, int]]) -> dict[str, Any]:
    """The file's content; ``panel_ids`` are the panels of each dashboard by title."""
    return {
        "apiVersion": 1,
        "groups": [
            {
                "orgId": 1,
                "name": "ncp-testbed",
                "folder": FOLDER,
                "interval": "30s",
                "rules": [_rule(rule, panel_ids[rule.dashboard][rule.panel]) for rule in RULES],
            }
        ],
    }


def _rule(rule: Rule, panel_id: int) -> dict[str, Any]:
    condition = "condition"
    return {
        "uid": rule.uid,
        "title": rule.title,
        "condition": condition,
        "data": [
            *(_query(figure, rule.last_s) for figure in rule.figures),
            *(_newest(figure, rule.last_s) for figure in rule.figures),
            _above(condition, f"{rule.figures[0].ref_id}_last", rule.above, rule.last_s),
        ],
        "dashboardUid": uid_of(rule.dashboard),
        "panelId": panel_id,
        # Most of the time no run is on, and then there is nothing to tell.
        "noDataState": "OK",
        "execErrState": "Error",
        "for": "0s",
        "annotations": {
            "summary": _summary(rule),
            # The run's own page; Grafana adds its address where it sends the message.
            "page": f"/d/{uid_of(rule.dashboard)}?{{{{ if .Labels.run }}}}var-run={{{{ .Labels.run }}}}&{{{{ end }}}}"
            f"viewPanel={panel_id}",
            # Grafana 9.3 ignores the two fields above and reads these.
            "__dashboardUid__": uid_of(rule.dashboard),
            "__panelId__": str(panel_id),
        },
        "labels": {"severity": rule.severity, "testbed": "ncp"},
    }


def _summary(rule: Rule) -> str:
    """Grafana shows it of every group, also of one that does not fire, and once without labels where there is none."""
    first = rule.figures[0].ref_id
    return (
        f"{{{{ if .Labels.run }}}}{{{{ if gt .Values.{first}_last.Value {float(rule.above)} }}}}{rule.message}"
        f"{{{{ else }}}}{_WHICH}: nothing to tell.{{{{ end }}}}{{{{ else }}}}No run to tell of.{{{{ end }}}}"
    )


def _query(figure: Figure, last_s: int) -> dict[str, Any]:
    model = source.InfluxQuery(figure.query, figure.ref_id).to_json()
    return _step(figure.ref_id, source.UID, last_s, {**model, "intervalMs": 1000, "maxDataPoints": 43200})


def _newest(figure: Figure, last_s: int) -> dict[str, Any]:
    model = {"type": "reduce", "expression": figure.ref_id, "reducer": "last"}
    return _expression(f"{figure.ref_id}_last", model, last_s)


def _above(ref_id: str, of: str, above: float, last_s: int) -> dict[str, Any]:
    return _expression(ref_id, {"type": "math", "expression": f"${{{of}}} > {above:g}"}, last_s)


def _expression(ref_id: str, model: dict[str, Any], last_s: int) -> dict[str, Any]:
    datasource = {"type": EXPRESSION_UID, "uid": EXPRESSION_UID}
    return _step(ref_id, EXPRESSION_UID, last_s, {"refId": ref_id, "datasource": datasource, **model})


def _step(ref_id: str, datasource_uid: str, last_s: int, model: dict[str, Any]) -> dict[str, Any]:
    return {
        "refId": ref_id,
        "datasourceUid": datasource_uid,
        "relativeTimeRange": {"from": last_s, "to": 0},
        "model": model,
    }
