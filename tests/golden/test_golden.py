"""Each golden file is what comes today, and is not where a change is planted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engines import virtual_run
from testbed.planning import resolve
from testbed.scenario import files
from testbed.study.kinds import table as table_run
from tests.golden import guest, plans, recorded, run_ids, telemetry, text
from tests.golden.telemetry import Case
from tests.sabotage.entry import Swap
from tests.sabotage.lab import simulator_of

NAMES = sorted(recorded.made())


@pytest.mark.parametrize("name", NAMES)
def test_is_what_comes_today(name: str) -> None:
    assert not (found := recorded.difference(name)), found


def test_there_is_a_file_for_all_that_is_shipped_and_no_other() -> None:
    assert {str(file.relative_to(recorded.FOLDER)) for file in recorded.FOLDER.rglob("*.*")} == {
        *NAMES,
        guest.RECORDED.name,
        "reference-guest.json",
    }
    assert sum(name.startswith("plans/") for name in NAMES) == sum(
        len(some) for some in (files.scenarios(), files.links(), files.tables(), files.sweeps())
    )
    lines = (recorded.FOLDER / "telemetry.json").read_text()
    assert set(json.loads(lines)) == {case.name for case in telemetry.cases()}


@pytest.mark.parametrize("name", ["scenarios/ndn", "scenarios/links-ramp", "tables/bdp-buffer", "sweeps/loss-policy"])
def test_a_plans_key_that_changes_is_seen(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(resolve, "TELEMETRY_INTERVAL_MS", 200)
    found = recorded.difference(f"plans/{name}.json")
    assert '"interval_ms": 100' in found
    assert '"interval_ms": 200' in found
    assert recorded.COMMAND in found


def test_a_change_of_one_cell_alone_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    of_table = table_run.plans_of

    def with_one_changed(*arguments: Any) -> Sequence[Any]:
        found = of_table(*arguments)
        found[1][1]["links"][0]["rate_bps"] += 0.001
        return found

    monkeypatch.setattr(table_run, "plans_of", with_one_changed)
    lines = recorded.difference("plans/tables/bdp-buffer.json").splitlines()
    changed = [line for line in lines if line.startswith("+ ")]
    assert len(changed) == 2, "one of the full form, one of the quick form"
    assert all('"links.0.rate_bps": ' in line for line in changed)


def test_a_scenario_that_changes_is_seen_in_plan_run_id_and_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    plan_of = plans.plan_of

    def changed(name: str, *set_: str, **more: Any) -> Any:
        return plan_of(name, *set_, *(["links.fast.delay=51ms"] if name == "startup" else []), **more)

    monkeypatch.setattr(plans, "plan_of", changed)
    assert '"delay_ms": 51.0' in recorded.difference("plans/scenarios/startup.json")
    assert changed_run_ids() == {"startup full", "startup quick"}
    assert telemetry.of_case(Case("startup", quick=True)) not in RECORDED_TELEMETRY


RECORDED_TELEMETRY = (recorded.FOLDER / "telemetry.json").read_text()


def changed_run_ids() -> set[str]:
    before, now = json.loads((recorded.FOLDER / "run-ids.json").read_text()), json.loads(run_ids.whole())
    return {name for name in before if before[name] != now[name]}


NKP24 = Swap("ncp-agent/policy/nkp24.go", "p.windows[c]++", "p.windows[c] += 1.00001")
"""A hundred-thousandth faster."""
BURSTS = Swap("internal/linkmodel/loss.go", "bad = !chance(r, g.Leave)", "bad = chance(r, 1-g.Leave)")
"""The same loss, of other frames."""


@pytest.mark.parametrize(
    ("swap", "seen", "not_seen"),
    [
        (NKP24, Case("startup", quick=True), Case("startup", False, ("policy=previous",))),
        (BURSTS, Case("links-burst-loss", quick=True), Case("startup", quick=True)),
    ],
)
def test_a_line_of_source_that_changes_is_seen(tmp_path: Path, swap: Swap, seen: Case, not_seen: Case) -> None:
    simulator = simulator_of((swap,), tmp_path)
    assert telemetry.of_case(seen) in RECORDED_TELEMETRY
    assert telemetry.of_case(seen, simulator) not in RECORDED_TELEMETRY
    assert telemetry.of_case(not_seen, simulator) in RECORDED_TELEMETRY


@pytest.mark.parametrize("keys", [("run", "namespace", "seed"), ("run",)])
def test_a_rule_of_run_ids_that_changes_is_seen(monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]) -> None:
    monkeypatch.setattr(virtual_run, "NOT_OF_THE_QUESTION", keys)
    assert len(changed_run_ids()) == 58


def test_other_code_has_other_run_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_ids, "CODE", b"cod\x00")
    assert len(changed_run_ids()) == 58


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([0.0, 1.0, "", "a"]),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from("ab"), parts, max_size=2),
    max_leaves=8,
)


@given(DOCUMENTS, DOCUMENTS)
def test_documents_are_told_apart(old: Any, new: Any) -> None:
    assert bool(text.changes(old, new)) is (json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True))
    assert json.loads(text.pretty(new)) == new
