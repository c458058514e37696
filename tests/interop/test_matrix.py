"""Which cells there are, what each end of a cell is given, and what comes of them all."""

import json
from typing import Any

import pytest

from testbed.checks.result import Trust
from testbed.errors import BadInput, RunFailed
from testbed.interop.cell_run import CellResult
from testbed.interop.cells import Cell, chosen_connections, chosen_peers, matrix, pairs
from testbed.interop.judge import ENDS, Evidence, Judgement
from testbed.interop.plans import cell_plans, load_network
from testbed.interop.report import write_report
from testbed.interop.verdict import Outcome
from testbed.plan.model import Plan
from testbed.plan.resolve import Choices, resolve
from testbed.runner.packets import dropped

POLICIES: Any = {"nkp24": {"name": "nkp24"}}


def test_every_peer_is_met_both_ways() -> None:
    cells = matrix(pairs(["1.0.9", "1.1.2"], references=False), [1, 2, 3, 4], [0.0, 0.01])
    assert len(cells) == len(set(cells)) == 4 * 4 * 2
    assert {(c.sender, c.receiver) for c in cells} == {
        ("ours", "1.0.9"),
        ("1.0.9", "ours"),
        ("ours", "1.1.2"),
        ("1.1.2", "ours"),
    }
    assert [c.loss for c in cells] == sorted(c.loss for c in cells), "the cells of a network are together"
    assert len({c.folder for c in cells}) == len(cells)
    assert cells[-1].title == "1.1.2 → ours, 4 connections, 1% loss"


@pytest.mark.parametrize(("text", "numbers"), [("1", [1]), ("1-4", [1, 2, 3, 4]), ("4,1", [4, 1]), ("2,1-2", [2, 1])])
def test_connections(text: str, numbers: list[int]) -> None:
    assert chosen_connections(text) == numbers


@pytest.mark.parametrize("text", ["0", "5", "1-5", "x", "", "1,,2", "4-1"])
def test_connections_that_there_are_not(text: str) -> None:
    with pytest.raises(BadInput, match="--connections"):
        chosen_connections(text)


def test_peers_that_there_are_not() -> None:
    assert chosen_peers([]) == ["1.0.9", "1.1.2"]
    with pytest.raises(BadInput, match=r"--peer 1\.1: .* peers: 1\.0\.9, 1\.1\.2"):
        chosen_peers(["1.1"])


def network(loss: float = 0.01) -> Plan:
    loaded = load_network([], loss=loss, quick=True)
    return resolve(loaded, POLICIES, Choices("process"), "20261121-000000-abcd")


def test_loss_is_on_all_links_and_what_is_set_holds() -> None:
    assert {link["loss"] for link in network()["links"]} == {0.01}
    loaded = load_network(["links.two.loss=5%", "transfer=3MiB"], loss=0.01, quick=True)
    assert [link.loss for link in loaded.scenario.links] == [0.01, 0.05, 0.01, 0.01]
    assert loaded.scenario.ncp is not None
    assert loaded.scenario.ncp.transfer_bytes == 3 << 20


def test_both_ends_have_to_agree_on_the_smaller() -> None:
    plans = cell_plans(network(), Cell(7, "ours", "1.1.2", 3, 0.01))
    [sender], [receiver] = plans.sender["sessions"], plans.receiver["sessions"]
    assert receiver["send_window_bytes"] < sender["send_window_bytes"]
    assert receiver["mtu_bytes"] < sender["mtu_bytes"]
    assert sender["transfer_bytes"] > receiver["send_window_bytes"], "flow control is what is tried, too"
    assert [c["link"] for c in sender["connections"]] == ["one", "two", "three"]
    other = cell_plans(network(), Cell(8, "1.1.2", "ours", 3, 0.01)).sender["sessions"][0]
    ports = [c["sender"].rsplit(":")[-1] for session in (sender, other) for c in session["connections"]]
    assert len(set(ports)) == 6, "each cell has ports of its own"


@pytest.mark.parametrize("frames", [0, 25])
def test_what_tcpdump_missed(frames: int) -> None:
    said = f"listening on any\n3 packets captured\n28 packets received by filter\n{frames} packets dropped by kernel\n"
    assert dropped(said) == frames
    assert dropped(said.replace(f"{frames} packets", "1 packet")) == 1


def test_a_tcpdump_that_says_nothing() -> None:
    with pytest.raises(RunFailed, match="did not tell"):
        dropped("tcpdump: any: You don't have permission")


def result(cell: Cell, status: Any = "pass", *reasons: str) -> CellResult:
    facts = {
        "payload_bytes": 1 << 20,
        "lasted_ms": 500.0,
        "window_bytes": 9,
        "mtu_bytes": 9,
        "sequences": 9,
        "resent_packets": 0,
        "unacknowledged": 0,
        "max_in_flight_packets": 3,
        "max_outstanding_bytes": 5,
        "payload_sha256": "ab" * 32,
        "violations": [],
    }
    packets = None if status == "unjudged" else {f"{end}_end": facts for end in ENDS}
    ends = {end: {"samples": [1], "sha256": "ab" * 32} for end in ENDS}
    return CellResult(cell, Judgement(status, list(reasons)), Evidence(1 << 20, ends, packets))


CELLS = matrix(pairs(["1.1.2"], references=False), [1, 4], [0.0])
TRUSTED = Trust(trusted=True)


def outcome(results: list[CellResult], trust: Trust = TRUSTED, broken: str = "") -> Outcome:
    return Outcome.of("20261121-000000-abcd", CELLS, results, trust, broken)


def test_only_a_whole_matrix_passes() -> None:
    whole = [result(cell) for cell in CELLS]
    assert outcome(whole).verdict == "pass"
    missing = outcome(whole[:-1], broken="stopped by SIGINT")
    assert (missing.verdict, missing.summary) == ("fail", "3 of 4 cells pass, 1 were not run")
    failing = outcome([*whole[:-1], result(CELLS[-1], "fail", "a gap")])
    assert (failing.verdict, failing.summary) == ("fail", "3 of 4 cells pass, 1 fail")
    unjudged = outcome([*whole[:-1], result(CELLS[-1], "unjudged", "missed 3 frames")])
    assert unjudged.verdict == "untrusted"
    assert unjudged.trust.reasons == [f"{CELLS[-1].title}: missed 3 frames"]
    assert outcome(whole, Trust(trusted=False, reasons=["starved"])).verdict == "untrusted"


def test_the_table_and_the_files(tmp_path: Any) -> None:
    came_out = outcome([result(CELLS[0]), result(CELLS[1], "fail", "a <gap>"), result(CELLS[2], "unjudged", "?")])
    assert came_out.table() == (
        ["sender → receiver", "1, clean", "4, clean"],
        [["ours → 1.1.2", "✓ 2.00", "✕ 2.00"], ["1.1.2 → ours", "?", "–"]],
    )
    write_report(came_out, tmp_path)
    document = json.loads((tmp_path / "interop.json").read_text())
    assert document["verdict"] == "untrusted"
    assert [cell["status"] for cell in document["cells"]] == ["pass", "fail", "unjudged"]
    assert document["cells"][0]["goodput_bps"] == 16 * (1 << 20)
    page = (tmp_path / "interop.html").read_text()
    assert '<a href="#ours-to-1.1.2-4-clean">✕ 2.00</a>' in page
    assert "a &lt;gap&gt;" in page
    assert "| ours → 1.1.2 | ✓ 2.00 | ✕ 2.00 |" in (tmp_path / "interop.md").read_text()
