"""Which runs are called the same."""

from pathlib import Path

import pytest

from testbed.errors import BadInput
from testbed.study.kinds import same_bytes
from testbed.study.kinds.same_bytes import Repetition, digests, judge, loaded_of
from tests.raises import raises

ONE, OTHER = ({"telemetry.lp": "a", "capture-sender.pcap": "b"}, {"telemetry.lp": "x", "capture-sender.pcap": "b"})


def test_files_of_data_are_compared_and_what_tells_of_the_machine_is_not(tmp_path: Path) -> None:
    for name in (
        "telemetry.lp",
        "agents/s1.json",
        "capture.pcap",
        "provenance.json",
        "report.html",
        "logs/guest/a.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert list(digests(tmp_path)) == ["agents/s1.json", "capture.pcap", "telemetry.lp"]


def test_equal_runs_with_another_seed_that_differs_hold() -> None:
    found = judge("startup", [ONE, ONE, ONE], [], OTHER)
    assert found.holds
    assert found.lines()[0] == "startup: 3 runs with one seed; another seed: other telemetry"
    assert "  same     capture-sender.pcap: b" in found.lines()
    assert (
        found.digest == judge("copy", [dict(reversed(ONE.items()))], [], {}).digest != judge("", [OTHER], [], {}).digest
    )


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (judge("x", [ONE, ONE, OTHER], [], {}), "differs  telemetry.lp: a ×2, x ×1"),
        (judge("x", [ONE, {"telemetry.lp": "a"}], [], {}), "differs  capture-sender.pcap: b ×1, missing ×1"),
        (judge("x", [ONE, ONE], [2], OTHER), "span     in runs 2: not called repeatable"),
        (judge("x", [ONE, ONE], [], ONE), "x: 2 runs with one seed; another seed: the SAME telemetry"),
    ],
)
def test_anything_else_does_not_and_is_told(found: Repetition, says: str) -> None:
    assert not found.holds
    assert says in [line.strip() for line in found.lines()]


def test_runs_without_telemetry_are_no_proof() -> None:
    assert not judge("x", [{}, {}], [], OTHER).holds


def test_a_cell_of_a_table_is_named_by_row_and_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_bytes, "REPEATABLE", "sim")  # whose policies are the same, and which is built soon
    scenario = loaded_of("bdp-window/rtt-200/bbr", [], quick=False).scenario
    assert scenario.name == "bdp-window"
    assert scenario.links[0].delay_ms == 100
    with raises(BadInput, "table.no-such-part", what="columns", name="reno", known="cubic, bbr"):
        loaded_of("bdp-window/rtt-200/reno", [], quick=False)
    for name in ("speed-table/1/mptcp", "bdp-window/rtt-100,rtt-200/bbr"):
        with raises(BadInput, "compare.column-not-a-scenario"):
            loaded_of(name, [], quick=False)
