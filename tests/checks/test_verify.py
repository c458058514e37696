"""A result folder judged again, and what is exported from it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from testbed.errors import BadInput
from testbed.judge.checks.derived import COLUMNS, derived_lines, write_windows_csv
from testbed.judge.checks.result import Verdict
from testbed.judge.verify import Difference, differences, read_verdict, verify
from testbed.series import FromFile, named
from tests.checks.generate import make_plan, telemetry, write_result
from tests.raises import Containing, raises
from tests.said import Saying, places


@pytest.fixture
def folder(tmp_path):
    plan = make_plan("previous", transfer_mib=24)
    write_result(tmp_path / "run", plan, telemetry(plan, noise=0.1))
    return tmp_path / "run"


def judged_again(folder: Path) -> tuple[Verdict, list[Difference]]:
    again = verify(folder)
    return again, list(differences("", read_verdict(folder).to_json(), again.to_json()))


def test_an_untouched_folder_verifies(folder):
    verdict, found = judged_again(folder)
    assert found == []
    assert verdict == read_verdict(folder)
    assert verdict.verdict == "fail"


def test_a_polished_verdict_is_found_out(folder):
    path = folder / "verdict.json"
    document = json.loads(path.read_text())
    document["verdict"] = "pass"
    document["checks"][0]["status"] = "pass"
    document["checks"][0]["figures"]["shares"][0]["measured"] = 0.5817
    path.write_text(json.dumps(document))
    verdict, found = judged_again(folder)
    assert verdict.verdict == "fail"
    polished = {"recorded": "pass", "again": "fail"}
    assert found[0] == Saying("difference.value", where="verdict", **polished)
    assert Saying("difference.value", where="checks[windows follow the law].status", **polished) in found
    assert any(place.endswith("shares[0].measured") for place in places(found))
    assert len(found) == 3


def test_changed_data_are_found_out(folder):
    path = folder / "telemetry.lp"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-40]) + "\n" + lines[-1] + "\n")
    _, found = judged_again(folder)
    assert "checks[database].figures.file_points" in places(found, "difference.value")
    (status,) = (said for said in found if said.details["where"] == "checks[database].status")
    assert status.details["recorded"] == "pass"


@pytest.mark.parametrize("name", ["plan.json", "telemetry.lp", "verdict.json"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with raises(BadInput, "file.not-in-result", path=folder / name):
        verify(folder)


def test_a_broken_verdict_names_the_field(folder):
    path = folder / "verdict.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "verdict": "maybe"}))
    with raises(
        BadInput,
        "verify.bad-check",
        path=Containing("verdict.json"),
        where="verdict",
        error=Containing("Input should be 'pass', 'inconclusive', "),
    ):
        verify(folder)


def test_derived_series_hold_the_law_its_error_and_the_verdict(folder):
    plan = json.loads((folder / "plan.json").read_text())
    reader = FromFile(folder / "telemetry.lp")
    derived = folder / "derived.lp"
    derived.write_text(derived_lines(plan, reader, read_verdict(folder)))
    again = FromFile(derived)
    share = reader.read(named("window_share"))["1"]
    expected, error = again.read(named("law_share"))["1"], again.read(named("law_error"))["1"]
    assert expected.t_ns.tolist() == share.t_ns.tolist()
    assert (expected.values + error.values).tolist() == pytest.approx(share.values.tolist())
    assert again.count_points() == 0  # derived points are no telemetry
    text = derived.read_text()
    assert 'verdict="fail"' in text
    assert r"check=final\ window\ ratio" in text


def test_windows_csv_has_every_sample_of_the_sender(folder):
    path = folder / "windows.csv"
    reader = FromFile(folder / "telemetry.lp")
    count = write_windows_csv(reader, ["s1"], path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == count == 2 * reader.read(named("window_share"))["1"].t_ns.size
    assert (rows[0]["t_s"], rows[0]["connection"], rows[1]["connection"]) == ("0.100", "1", "2")
    assert float(rows[-1]["share"]) == 0.5
    assert int(rows[-2]["acked"]) > 20_000
