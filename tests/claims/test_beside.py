"""Results of several engines side by side: in claims.json, claims.csv and the page."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import BadInput
from testbed.judge.status import Status
from testbed.study.checks.claims import Judged, difference, judged_in, put_beside, read_beside, read_claims
from testbed.study.report.page import write_claims
from tests.raises import raises


def claim(name: str, **changed: Any) -> Judged:
    return replace(
        Judged(
            id=name,
            source="them",
            kind="claim",
            text="t",
            verdict=Status.PASS,
            reason="r",
            run="start",
            command="c",
            check="k",
            published="8 to 1",
            expected="7 to 9",
            tolerance="",
            why="w",
            reproduces=True,
        ),
        **changed,
    )


def result(folder: Path, engine: str, *claims: Judged) -> Path:
    folder.mkdir()
    document = {
        "engine": engine,
        "run": folder.name,
        "quick": False,
        "claims": [one.as_json() for one in claims],
        "sources": {"them": {"title": "A paper", "by": "Somebody", "where": "in print"}},
        "runs": {},
        "verdict": "pass",
        "summary": "",
        "minutes": 1,
        "complete": True,
    }
    (folder / "claims.json").write_text(json.dumps(document))
    return folder


def test_what_another_engine_measured_is_beside_it(tmp_path: Path) -> None:
    emulated = result(
        tmp_path / "real",
        "mininet",
        claim("ratio", measured="8.00 to 1", n=3, figures={"measured": 8.0}),
        claim("quiet", verdict="inconclusive", reason="It straddles.", figures={"1 a": 1.0, "2 a": 2.0}),
    )
    guest = result(
        tmp_path / "guest",
        "vkernel",
        claim("ratio", measured="7.60 to 1", n=1, figures={"measured": 7.6}),
        claim("quiet", figures={"1 a": 1.01, "2 a": 1.9, "3 a": 1.0}),
        claim("new"),
    )
    found = put_beside(guest, [emulated])
    assert [one.beside.get("mininet", {}).get("difference") for one in found] == [
        "-0.4000 (-5.0%)",
        "at most -5.0% (2 a)",
        None,
    ]
    again = read_claims(guest)
    assert judged_in(again) == found
    assert again["beside"] == [{"engine": "mininet", "run": "real", "quick": False}]
    with (guest / "claims.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert [row["mininet_verdict"] for row in rows] == ["pass", "inconclusive", ""]
    assert rows[0]["mininet_measured"] == "8.00 to 1"
    page = write_claims(guest).read_text()
    assert "Measured: emulation" in page
    assert "network-only model: one core, CPU free" in page
    assert "It straddles." in page
    assert put_beside(guest, []) == [replace(one, beside={}) for one in found]
    assert "Measured: emulation" not in write_claims(guest).read_text()


@pytest.mark.parametrize(
    ("ours", "theirs", "says"),
    [
        ({"measured": 1.0}, {"measured": 1.0}, "same"),
        ({"measured": 0.5}, {"measured": 0.0}, "+0.5000 (from 0)"),
        ({"measured": -1.0}, {"measured": -2.0}, "+1.00 (+50.0%)"),
        ({"a": 1.0}, {"b": 1.0}, ""),
        ({"a": 1.0, "b": 3.0}, {"a": 1.0, "b": 2.0}, "at most +50.0% (b)"),
    ],
)
def test_a_difference_is_told_in_percent_of_theirs(ours: dict[str, float], theirs: dict[str, float], says: str) -> None:
    assert difference(ours, theirs) == says


def test_two_results_of_one_engine_are_refused(tmp_path: Path) -> None:
    folders = [result(tmp_path / name, "sim", claim("ratio")) for name in ("a", "b")]
    with raises(BadInput, "claims.engine-twice", engine="sim"):
        put_beside(folders[0], [folders[1]])
    with raises(BadInput, "claims.no-result"):
        read_beside([tmp_path], "sim")
