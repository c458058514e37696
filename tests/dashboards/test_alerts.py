"""Every alert rule made to fire, and to stay silent, by what runs leave in a database, and its message then."""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from ruamel.yaml import YAML

from dashboards.generate import FOLDER
from testbed.engines.emulation import calibration
from testbed.engines.emulation.calibration import LinkReading
from testbed.judge.checks.derived import broken_lines, verdict_points
from testbed.judge.checks.result import CheckResult, Trust, Verdict
from testbed.judge.status import Status
from testbed.points import line_protocol
from testbed.services.influx.client import Client
from tests.dashboards.conftest import Replayed
from tests.dashboards.grafana import Span, Variables, interpolate

RULES = {
    rule["uid"]: rule
    for rule in YAML(typ="safe").load(FOLDER / "provisioning" / "alerting" / "rules.yaml")["groups"][0]["rules"]
}


@dataclass(frozen=True)
class Alert:
    """One that fires: the labels of its group, and its message."""

    labels: dict[str, str]
    message: str
    page: str


def fired(influx: Client, uid: str, now_ms: int) -> list[Alert]:
    """What Grafana makes of the rule at that time: figures of a group are joined by their labels."""
    rule = RULES[uid]
    figures: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for step in rule["data"]:
        if step["datasourceUid"] == "ncp-influxdb":
            span = Span(now_ms - step["relativeTimeRange"]["from"] * 1000, now_ms)
            answer = influx.query(interpolate(step["model"]["query"], Variables(), span))
            figures[f"{step['refId']}_last"] = {
                tuple(sorted(part.tags.items())): part.columns["last"][-1] for part in answer
            }
    ((name, limit),) = re.findall(r"\$\{(\w+)\} > (.+)", rule["data"][-1]["model"]["expression"])
    return [
        Alert(dict(group), *(_text(rule["annotations"][key], group, figures) for key in ("summary", "page")))
        for group, value in figures[name].items()
        if value > float(limit)
    ]


def _text(template: str, group: Any, figures: Any) -> str:
    """Go's template; what is missing stays as Go prints it. Without a group there are neither labels nor values."""
    labels = dict(group)
    template = _branch(template, labels, {name: values.get(group) for name, values in figures.items()})
    text = re.sub(r"\{\{ \.Labels\.(\w+) \}\}", lambda m: labels.get(m[1], "<no value>"), template)

    def number(found: re.Match[str]) -> str:
        value = figures[found[2]].get(group)
        return "%!g(<nil>)" if value is None else found[1] % value

    return re.sub(r'\{\{ printf "([^"]+)" \.Values\.(\w+)\.Value \}\}', number, text)


def _branch(template: str, labels: dict[str, str], values: dict[str, float | None]) -> str:
    """The template as its conditions leave it, the innermost first."""
    inner = re.compile(
        r"\{\{ if ([^}]+) \}\}((?:(?!\{\{ (?:if|end)).)*?)(?:\{\{ else \}\}((?:(?!\{\{ if).)*?))?\{\{ end \}\}"
    )
    while found := inner.search(template):
        condition, yes, no = found[1], found[2], found[3] or ""
        if condition == ".Labels.run":
            holds = "run" in labels
        else:
            name, limit = re.fullmatch(r"gt \.Values\.(\w+)\.Value (\S+)", condition).groups()  # type: ignore[union-attr]
            holds = (values.get(name) or 0.0) > float(limit)
        template = template[: found.start()] + (yes if holds else no) + template[found.end() :]
    return template


@pytest.mark.parametrize("uid", RULES)
def test_what_does_not_fire_is_told_without_an_alarm(uid):
    """Grafana lists every group with its message, and where there is none one without labels or values."""
    rule = RULES[uid]["annotations"]
    assert _text(rule["summary"], (), {}) == "No run to tell of."
    assert "no value" not in _text(rule["page"], (), {})
    group = (("policy", "nkp24"), ("run", "r"), ("scenario", "startup"))
    silent = {f"{step['refId']}_last": {group: 0.0} for step in RULES[uid]["data"]}
    assert _text(rule["summary"], group, silent) == "startup, policy nkp24, run r: nothing to tell."


@pytest.fixture(scope="module")
def now_ms(runs):
    return max(run.to_ms for run in runs.values()) + 1000


def at(run: Replayed, seconds: int = 1) -> int:
    return run.to_ms + seconds * 1000


def of_run(alerts: list[Alert], run: Replayed) -> list[Alert]:
    return [alert for alert in alerts if alert.labels["run"] == run.plan["run"]]


def test_windows_that_miss_what_is_asked_are_one_alert_for_each_check(influx, runs):
    alerts = of_run(fired(influx, "ncp-not-converged", at(runs["previous"])), runs["previous"])
    assert {alert.labels["check"] for alert in alerts} == {"final window ratio", "delivered ratio"}
    (alert,) = [alert for alert in alerts if alert.labels["check"] == "final window ratio"]
    assert alert.message.startswith("startup, policy previous, run 20261121-105025-1da8: the check “final window")
    assert re.search(r"Measured \d[\d.]*, expected 7 to 9 \(unit: -\)\.", alert.message)
    assert alert.page == "/d/ncp-convergence?var-run=20261121-105025-1da8"


def test_a_run_that_does_what_is_asked_fires_nothing(influx, runs):
    for uid in RULES:
        assert of_run(fired(influx, uid, at(runs["ndn"])), runs["ndn"]) == []


def test_it_is_silent_again_when_its_time_is_over(influx, runs):
    for uid, rule in RULES.items():
        last_s = rule["data"][0]["relativeTimeRange"]["from"]
        later = max(run.to_ms for run in runs.values()) + (last_s + 60) * 1000
        assert fired(influx, uid, later) == []


def test_a_link_that_is_off_says_what_was_asked_of_it(influx, runs):
    run = runs["nkp24"]
    plan = run.plan | {"run": "off", "limits": run.plan["limits"]}
    good = LinkReading("slow", "ab", 1e6, 1.001e6, 50.0, 50.1, 50.2, 0.0, 0.0, 100, 100)
    off = LinkReading("fast", "ba", 8e6, 7.6e6, 50.0, 50.1, 50.2, 0.0, 0.0, 100, 100)
    influx.write(calibration.lines(plan, [good, off], run.to_ms * 1_000_000))
    (alert,) = [a for a in fired(influx, "ncp-link-off", at(run)) if a.labels["run"] == "off"]
    assert (alert.labels["link"], alert.labels["direction"]) == ("fast", "ba")
    assert alert.message == (
        "startup, policy nkp24, run off: link fast ba is off by 2.5 times what is allowed. Measured 7600000 bit/s and "
        "50.10 ms, expected 8000000 bit/s and 50.00 ms."
    )


@pytest.mark.parametrize(("lag_ms", "fires"), [(4999.0, False), (5001.0, True)])
def test_a_database_that_is_behind(influx, runs, lag_ms, fires):
    run = runs["nkp24"]
    tags = f"run=lag{lag_ms:.0f},scenario=startup,policy=nkp24"
    influx.write([f"telemetry_lag,{tags} lag_ms={lag_ms} {run.to_ms * 1_000_000}"])
    alerts = [a for a in fired(influx, "ncp-telemetry-lag", at(run)) if a.labels["run"] == f"lag{lag_ms:.0f}"]
    assert bool(alerts) == fires
    if fires:
        assert "Measured 5001 ms, expected at most 5000 ms." in alerts[0].message


def verdict_of(plan: dict[str, Any], checks: list[CheckResult], broken: str) -> Verdict:
    return Verdict(
        scenario=plan["scenario"],
        run=plan["run"],
        verdict="fail",
        summary="",
        checks=checks,
        trust=Trust(trusted=True),
        duration_s=None,
        policy=plan["sessions"][0]["policy"],
        broken=broken,
    )


@pytest.mark.parametrize("occasion", ["manual", "nightly"])
def test_a_run_that_broke_down_is_one_alert_of_its_own_kind(influx, runs, tmp_path, occasion):
    run = runs["nkp24"]
    plan = run.plan | {"run": f"broken-{occasion}", "occasion": occasion}
    errors = [
        CheckResult(name=check["name"], judge=check["judge"], status="error", reason="Not judged")
        for check in plan["checks"]
    ]
    verdict = verdict_of(plan, errors, "the probe ended")
    influx.write(broken_lines(plan, verdict, run.to_ms * 1_000_000).splitlines())
    found = {uid: [a for a in fired(influx, uid, at(run)) if a.labels["run"] == plan["run"]] for uid in RULES}
    assert {uid for uid, alerts in found.items() if alerts} == {"ncp-broke-down"}
    (alert,) = found["ncp-broke-down"]
    assert alert.message.startswith(f"startup, policy nkp24, run broken-{occasion} ({occasion}): it broke down")
    assert "nothing" not in alert.message


@pytest.mark.parametrize(
    ("trusted", "status", "fires"),
    [(True, "fail", True), (False, "fail", False), (True, "error", False)],
    ids=["fails", "untrusted", "not-judged"],
)
def test_only_a_trusted_run_whose_windows_were_judged_has_not_converged(influx, runs, trusted, status, fires):
    run, then_ms = runs["nkp24"], runs["nkp24"].to_ms - 10 * 86_400_000
    plan = run.plan | {"run": f"converges-{trusted}-{status}", "occasion": "nightly"}
    check = next(check for check in plan["checks"] if check["judge"] == "follows_law")
    measured = {"measured": 0.2, "expected": 0.0} if status == "fail" else {}
    result = CheckResult(name=check["name"], judge="follows_law", status=status, reason="it did", **measured)
    verdict = verdict_of(plan, [result], "").model_copy(
        update={"verdict": Status.FAIL if trusted else Status.UNTRUSTED, "trust": Trust(trusted=trusted)}
    )
    influx.write(line_protocol(verdict_points(plan, verdict, then_ms * 1_000_000)).splitlines())
    found = [a for a in fired(influx, "ncp-not-converged", then_ms + 1000) if a.labels["run"] == plan["run"]]
    assert bool(found) == fires
    assert not any("nothing" in alert.message for alert in found)
    (nightly,) = [a for a in fired(influx, "ncp-nightly-fail", then_ms + 1000) if a.labels["run"] == plan["run"]]
    assert "Measured 0" not in nightly.message


def test_a_nightly_run_without_a_failed_check_says_that_it_is_not_to_be_trusted(influx, runs):
    then_ms = runs["nkp24"].to_ms - 10 * 86_400_000
    tags = "run=unsafe,scenario=startup,policy=p,occasion=nightly"
    influx.write([f"verdict,{tags} not_passed=1i,failed=0i {then_ms}000000"])
    (alert,) = [a for a in fired(influx, "ncp-nightly-fail", then_ms + 1000) if a.labels["run"] == "unsafe"]
    assert alert.message.endswith("the nightly run did not pass. It is not to be trusted.")


def test_a_nightly_run_that_does_not_pass(influx, runs):
    nightly = {name for name, run in runs.items() if run.plan["occasion"] == "nightly"}
    failed = {a.labels["run"] for a in fired(influx, "ncp-nightly-fail", at(runs["previous"], 60))}
    expected = {runs[name].plan["run"] for name in nightly & {"nkp24", "previous"}}
    assert failed == expected
    assert expected
    (alert,) = of_run(fired(influx, "ncp-nightly-fail", at(runs["previous"])), runs["previous"])
    assert alert.message.endswith("Measured 2 failed checks, expected none.")
    # The same run by hand is nobody's alarm at night.
    tags = "run=by-hand,scenario=startup,policy=p,occasion=manual"
    influx.write([f"verdict,{tags} not_passed=1i,failed=1i {at(runs['nkp24'])}000000"])
    assert "by-hand" not in {a.labels["run"] for a in fired(influx, "ncp-nightly-fail", at(runs["nkp24"], 5))}


def test_no_message_can_have_a_figure_that_is_not_there(influx, runs, now_ms):
    for uid in RULES:
        for shift_s in (0, -30, -3000):
            for alert in fired(influx, uid, now_ms + shift_s * 1000):
                assert "nil" not in alert.message
                assert "no value" not in alert.message
