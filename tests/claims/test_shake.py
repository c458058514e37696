"""Claims in the neighbourhood of their set-ups: what is counted, what the design does to a plan, and that a design or a
bound that proves nothing is found out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from testbed import engines
from testbed.cli import app
from testbed.errors import BadInput
from testbed.judge.status import Status
from testbed.runtime.progress import QuietProgress
from testbed.study.checks.shake import At, first_order, judge
from testbed.study.kinds import claims_file, shake
from tests.raises import raises

OF_LAW, OF_TABLE = "nkp24-startup-law", "nkp24-speed-size"


def points(status: Callable[[dict[str, float]], Status], number: int = 256) -> list[At]:
    """A claim whose value is the queue's coordinate, with a little of the delay's."""
    found = []
    for n, place in enumerate([dict.fromkeys(shake.FACTORS, 0.0), *shake.design(number)]):
        changes = {name: 1 + 0.1 * place[name] for name in ("queue", "delay", "seed", "dummy")}
        found.append(At(str(n), place, changes, status(place), value=place["queue"] + 0.5 * place["delay"]))
    return found


def holds(place: dict[str, float]) -> Status:
    return Status.FAIL if place["queue"] < -0.8 else Status.PASS


def test_it_counts_the_points_and_names_the_nearest_failure_and_the_factor() -> None:
    found = judge(points(holds))
    assert (found.status, found.source) == ("pass", "pass")
    assert found.points == found.decided == 256
    assert found.holds == 256 - sum(place["queue"] < -0.8 for place in shake.design(256))
    assert found.interval is not None
    assert found.interval[0] < found.holds / 256 < found.interval[1]
    assert found.most == "queue"
    assert found.nearest.startswith("queue −8%")
    of = found.sensitivity
    assert of["queue"]["first_order"] > 0.7 > 0.3 > of["delay"]["first_order"] > abs(of["dummy"]["first_order"])
    assert of["queue"]["fails"] > 0.7 > 0.3 > of["dummy"]["fails"]
    assert found.in_words().startswith(f"holds in {found.holds} of 256 (95%: ")
    assert found.in_words().endswith("most sensitive to: queue")


def test_all_of_256_are_at_least_98_6_percent_and_32_have_rank_correlations_alone() -> None:
    assert judge(points(lambda _place: Status.PASS)).interval == (0.9857, 1.0)
    few = judge(points(lambda _place: Status.PASS, 32))
    assert few.interval == (0.8911, 1.0)
    assert {index for of in few.sensitivity.values() for index in of} == {"rank"}


def test_excluded_points_are_counted_by_their_rule_and_more_than_half_decide_nothing() -> None:
    def without(part: float) -> list[At]:
        return [
            replace(one, status=Status.SKIPPED, reason="too short") if n and one.place["delay"] > part else one
            for n, one in enumerate(points(holds))
        ]

    some = judge(without(0.5))
    assert (some.status, some.excluded) == ("pass", {"too short": 256 - some.decided})
    assert f"{256 - some.decided} of 256 excluded" in some.in_words()
    assert judge(without(-0.5)).status == "insufficient-data"


def sabotaged(found: Sequence[At], **changed: Any) -> list[At]:
    return [found[0], *(replace(one, **changed) for one in found[1:])]


def test_what_proves_nothing_is_not_relied_on() -> None:
    found = points(holds)
    same = [replace(one, changes={**one.changes, "queue": 1.0}) for one in found]
    assert judge(same).reason == "The design varies nothing: queue is the same everywhere."
    twice = judge([*found, replace(found[7], point="257", place={**found[7].place, "seed": 0.3})])
    assert (twice.status, twice.reason[:30]) == ("untrusted", "1 points repeat the set-up of ")
    broken = [*found[:9], replace(found[9], status=Status.ERROR, reason="a full disk"), *found[10:]]
    assert (judge(broken).status, judge(broken).reason) == ("error", "1 points are not decided. Point 9: a full disk")


def test_the_part_of_the_variance_is_that_of_a_sum_and_of_a_parabola() -> None:
    x = np.array([list(place.values()) for place in shake.design(256)])
    y = x[:, 0] + 0.5 * x[:, 1]
    assert first_order(x[:, 0], y) == pytest.approx(0.8, abs=0.05)
    assert first_order(x[:, 1], y) == pytest.approx(0.2, abs=0.1)
    assert first_order(x[:, 2], x[:, 2] ** 2) == pytest.approx(1.0, abs=0.02)  # no rank correlation shows it
    assert abs(first_order(x[:, 5], y)) < 0.1


def test_a_kernels_points_are_the_first_of_the_simulators() -> None:
    every = shake.design(256)
    assert shake.design(32) == every[:32]
    assert len({tuple(place.values()) for place in every}) == 256
    assert all(abs(sum(place[name] for place in every)) < 1 for name in shake.FACTORS)  # balanced


def runs_of(only: Sequence[str]) -> tuple[list[shake.ShakenRun], dict[str, str]]:
    engine = engines.named("sim")
    return shake.runs_of(claims_file.load(only=only), engine, engine.prepare_plans(QuietProgress()))


def test_given_values_move_by_a_tenth_chosen_ones_by_two_and_bounds_with_the_links() -> None:
    (run,), left_out = runs_of([OF_LAW])
    assert not left_out
    assert run.reach == {"rate": 0.1, "ratio": 0.1, "delay": 2.0, "queue": 2.0, "size": 2.0, "payload": 0.1}
    own, *_ = run.points()
    assert own.cells["repeated", "runs"].plan["links"] == run.base["repeated", "runs"].plan["links"]
    assert {own.changes[name] for name in run.reach} == {1.0}
    far = run.point(
        "far", {**dict.fromkeys(shake.FACTORS, 0.0), "rate": 1.0, "ratio": 1.0, "queue": -1.0, "payload": 1.0}
    )
    assert {name: round(far.changes[name], 3) for name in run.reach} == {
        "rate": 1.1,
        "ratio": 1.1,
        "delay": 1.0,
        "queue": 0.496,
        "size": 1.0,
        "payload": 1.1,
    }
    plan = far.cells["repeated", "runs"].plan
    assert [link["queue"]["packets"] for link in plan["links"]] == [51, 6]
    (check,) = [check for check in plan["checks"] if check["name"] == "final window ratio"]
    assert (check["min"], check["max"]) == pytest.approx((8.624, 8.976))
    (session,) = plan["sessions"]
    assert session["send_window_bytes"] // session["mtu_bytes"] == 4096  # the law's W is that of the source


def test_a_queue_of_two_packets_takes_one_to_four() -> None:
    (run,), _ = runs_of([OF_TABLE])
    assert set(run.base) == {(row, column) for row in "45" for column in ("previous", "nkp24", "delivery-rate")}
    queues = {cell.plan["links"][0]["queue"]["packets"] for of in run.points() for cell in of.cells.values()}
    assert queues == {1, 2, 3, 4}


def test_claims_of_digits_and_of_sweeps_are_left_out_by_rule() -> None:
    runs, left_out = runs_of(["nkp24-speed-row1", "nkp24-speed-delays", "nkp24-tau", "cs244-rtt-rises"])
    assert not runs
    digits = "its figure is one of the source's set-up, and of no other"
    assert [left_out[name] for name in ("nkp24-speed-row1", "nkp24-speed-delays")] == [digits] * 2
    assert "sweep" in left_out["nkp24-tau"]
    assert "tcp" in left_out["cs244-rtt-rises"]


def test_points_beyond_a_rule_are_excluded() -> None:
    (run,), _ = runs_of(["nkp24-startup-law"])
    (claim,) = run.claims.values()
    origin = dict.fromkeys(shake.FACTORS, 0.0)
    short = run.judge(claim, run.point("short", {**origin, "size": -1.0, "rate": 1.0}), {})
    assert (short.status, short.reason) == ("skipped", "the transfer ends before the check's last moment")


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(shake, "POINTS", {False: 8, True: 8})
    return tmp_path / "results" / "shake"


@pytest.mark.runs
def test_it_runs_goes_on_and_has_a_page(few: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.carry_out(["all", "--shake", OF_LAW, OF_TABLE]) == 0
    said = capsys.readouterr().out
    assert f"{OF_LAW:<26} holds in 8 of 8 (95%: 63.1% to 100.0%)" in said
    assert f"{OF_TABLE:<26} holds in " in said
    assert "PASS shake" in said
    folder = (few / "latest").resolve()
    document = json.loads((folder / "shake.json").read_text())
    assert [(one["id"], one["source"]) for one in document["claims"]] == [(OF_LAW, "pass"), (OF_TABLE, "pass")]
    assert all(len(one["points_made"]) == 9 for one in document["claims"])
    assert not list(folder.glob("cells"))
    page = (folder / "report.html").read_text()
    assert "Its bound: τ = W/Σrate = 3.56 s, ±10%" in page
    assert page.count("<svg") >= 2
    lines = (folder / "runs.jsonl").read_text()
    assert app.carry_out(["all", "--shake", OF_LAW, OF_TABLE, "--resume", "latest"]) == 0
    assert (folder / "runs.jsonl").read_text() == lines


@pytest.mark.runs
def test_a_shake_whose_overrides_do_nothing_is_found_out(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shake, "_settings", lambda *_of: iter(()))
    document, _ = shake.run(claims_file.load(only=[OF_LAW]), ["sim"], "", QuietProgress())
    assert document["verdict"] == "untrusted"
    assert "varies nothing" in document["claims"][0]["reason"]


@pytest.mark.runs
def test_a_design_with_a_point_twice_is_found_out(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design = shake.design
    monkeypatch.setattr(shake, "design", lambda points: [*design(points)[:-1], design(points)[0]])
    document, _ = shake.run(claims_file.load(only=[OF_LAW]), ["sim"], "", QuietProgress())
    assert document["verdict"] == "untrusted"
    assert "repeat the set-up" in document["claims"][0]["reason"]


@pytest.mark.parametrize("named", ["mininet", "sim,mininet"])
def test_saboteur_an_engine_without_virtual_time_is_refused_and_not_replaced(few: Path, named: str) -> None:
    for more in ([], ["--dry-run"]):
        with raises(BadInput, "shake.engine"):
            app.carry_out(["all", "--shake", OF_LAW, "--engine", named, *more])
    assert not few.exists()


def test_without_an_engine_it_is_the_simulator_and_says_so(few: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for engine, said in (([], "sim"), (["--engine", "sim"], "sim"), (["--engine", "sim,vkernel"], "sim,vkernel")):
        app.carry_out(["all", "--shake", OF_LAW, "--dry-run", *engine])
        assert capsys.readouterr().out.endswith(f"on two idle cores, with --engine {said}\n")


def test_it_takes_no_quick_form_and_needs_something_to_shake(few: Path) -> None:
    with raises(BadInput, "shake.options"):
        app.carry_out(["all", "--shake", "--quick"])
    with raises(BadInput, "shake.nothing"):
        shake.run(claims_file.load(only=["nkp24-tau"]), ["sim"], "", QuietProgress())
