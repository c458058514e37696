"""The report's rows of machines with hosts of a run."""

from pathlib import Path
from typing import Any

from testbed.errors import BadInput
from testbed.results.report.tables import machine_rows
from tests.raises import Containing, raises

FACTS = {
    "machine": "m1",
    "hosts": ["h1", "h3"],
    "one_way_ms": 5.054,
    "one_way_p99_ms": 5.2,
    "asymmetry_ms": 5.0,
    "ahead_ns": -3_600_000_000_000,
    "clock_uncertainty_ms": 5.25,
    "link_mtu_bytes": 1450,
}


class Folder:
    def __init__(self, *machines: Any) -> None:
        self.path, self.provenance = Path("/r"), {"machines": list(machines)} if machines else {}


def test_a_row_a_machine() -> None:
    (row,) = machine_rows(Folder(FACTS))  # type: ignore[arg-type]
    assert (row["machine"], row["hosts"], row["way"], row["way_bound"]) == (
        "m1",
        "h1, h3",
        "5.05 ms",
        "±5.00 ms either way",
    )
    assert (row["clock"], row["clock_bound"], row["mtu"]) == ("-3600000.00 ms", "±5.25 ms", "1450 B")
    assert (row["middles"], row["others"]) == ("", ""), "as in runs of before"
    more = {**FACTS, "middles": ["fast", "slow"], "ways": [{"machine": "m2", "one_way_ms": 0.514}]}
    (row,) = machine_rows(Folder(more))  # type: ignore[arg-type]
    assert (row["middles"], row["others"]) == ("fast, slow", "m2 0.51 ms")
    assert machine_rows(Folder()) == []  # type: ignore[arg-type]


def test_a_figure_that_is_missing_is_named() -> None:
    with raises(BadInput, "report.bad-machines", path=Containing("provenance.json"), error="'one_way_ms'"):
        machine_rows(Folder({"machine": "m1", "hosts": []}))  # type: ignore[arg-type]
