"""Which cells there are, what each end of a cell is given, and what comes of them all."""

import json
from dataclasses import asdict
from itertools import count, zip_longest
from pathlib import Path
from typing import Any, cast

import pytest

from testbed import engines
from testbed.errors import BadInput, RunFailed
from testbed.judge.checks.result import Trust
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices, resolve
from testbed.runtime.interrupts import Interrupted
from testbed.runtime.packets import dropped
from testbed.runtime.progress import QuietProgress
from testbed.runtime.site import Site
from testbed.study.kinds import interop
from testbed.study.kinds.interop import Document, Matrix
from testbed.study.run import StudySpec
from testbed.traffic.interop.judge import ENDS
from testbed.traffic.interop.pairings import (
    Pairing,
    connections_of,
    load_network,
    losses_of,
    matrix,
    pairing_plans,
    peers_of,
)
from testbed.traffic.interop.transfer import PairingResult
from tests.raises import raises

POLICIES: Any = {"nkp24": {"name": "nkp24"}}


def test_every_peer_is_met_both_ways() -> None:
    cells = matrix(["1.0.9", "1.1.2"], [1, 2, 3, 4], [0.0, 0.01])
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
    assert connections_of(text) == numbers


@pytest.mark.parametrize("text", ["0", "5", "1-5", "x", "", "1,,2", "4-1"])
def test_connections_that_there_are_not(text: str) -> None:
    with raises(BadInput, "interop.bad-connections", text=text):
        connections_of(text)


def test_losses() -> None:
    assert losses_of("0%, 1%,0%") == [0.0, 0.01]
    with raises(BadInput, "interop.bad-loss", text="0%,x"):
        losses_of("0%,x")
    with raises(BadInput, "interop.loss-outside", text="0%,30%"):
        losses_of("0%,30%")


def test_peers_that_there_are_not() -> None:
    assert peers_of([]) == ["1.0.9", "1.1.2"]
    with raises(BadInput, "interop.no-such-peer", name="1.1", guess="; did you mean '1.1.2'?"):
        peers_of(["1.1"])


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
    plans = pairing_plans(network(), Pairing(7, "ours", "1.1.2", 3, 0.01))
    [sender], [receiver] = plans["sender"]["sessions"], plans["receiver"]["sessions"]
    assert receiver["send_window_bytes"] < sender["send_window_bytes"]
    assert receiver["mtu_bytes"] < sender["mtu_bytes"]
    assert sender["transfer_bytes"] > receiver["send_window_bytes"], "flow control is what is tried, too"
    assert [c["link"] for c in sender["connections"]] == ["one", "two", "three"]
    other = pairing_plans(network(), Pairing(8, "1.1.2", "ours", 3, 0.01))["sender"]["sessions"][0]
    ports = [c["sender"].rsplit(":")[-1] for session in (sender, other) for c in session["connections"]]
    assert len(set(ports)) == 6, "each cell has ports of its own"


@pytest.mark.parametrize("frames", [0, 25])
def test_what_tcpdump_missed(frames: int) -> None:
    said = f"listening on any\n3 packets captured\n28 packets received by filter\n{frames} packets dropped by kernel\n"
    assert dropped(said) == frames
    assert dropped(said.replace(f"{frames} packets", "1 packet")) == 1


def test_a_tcpdump_that_says_nothing() -> None:
    with pytest.raises(RunFailed, match="did not say"):
        dropped("tcpdump: any: You don't have permission")


def result(cell: Pairing, status: Any = "pass", *reasons: str) -> PairingResult:
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
    packets = None if status == "untrusted" else {f"{end}_end": facts for end in ENDS}
    ends: Any = {end: {"sha256": "ab" * 32} for end in ENDS}
    folder = Path("cells", cell.folder, "20261121-000000-abcd")
    return PairingResult.of(cell, folder, 1 << 20, (status, list(reasons)), ends, packets)


CELLS = matrix(["1.1.2"], [1, 4], [0.0])
TRUSTED = Trust(trusted=True)


def outcome(results: list[PairingResult], trust: Trust = TRUSTED, broken: str = "") -> Document:
    of_all = dict(zip_longest(CELLS, results))
    return interop.document_of("20261121-000000-abcd", of_all, trust, broken)


def test_only_a_whole_matrix_passes() -> None:
    whole = [result(cell) for cell in CELLS]
    assert outcome(whole)["verdict"] == "pass"
    missing = outcome(whole[:-1], broken="stopped by SIGINT")
    assert (missing["verdict"], missing["summary"]) == ("fail", "3 of 4 cells pass, 1 were not run")
    failing = outcome([*whole[:-1], result(CELLS[-1], "fail", "a gap")])
    assert (failing["verdict"], failing["summary"]) == ("fail", "3 of 4 cells pass, 1 fail")
    unjudged = outcome([*whole[:-1], result(CELLS[-1], "untrusted", "missed 3 frames")])
    assert unjudged["verdict"] == "untrusted"
    assert unjudged["trust"]["reasons"] == [f"{CELLS[-1].title}: missed 3 frames"]
    assert outcome(whole, Trust(trusted=False, reasons=["starved"]))["verdict"] == "untrusted"


def test_the_table_and_the_files(tmp_path: Any) -> None:
    came_out = outcome([result(CELLS[0]), result(CELLS[1], "fail", "a <gap>"), result(CELLS[2], "untrusted", "?")])
    assert (came_out["columns"], came_out["rows"]) == (
        ["sender → receiver", "1, clean", "4, clean"],
        [["ours → 1.1.2", "✓ 2.00", "✕ 2.00"], ["1.1.2 → ours", "?", "–"]],
    )
    interop.write(tmp_path, came_out)
    document = json.loads((tmp_path / "interop.json").read_text())
    assert document["verdict"] == "untrusted"
    assert [cell["status"] for cell in document["cells"]] == ["pass", "fail", "untrusted"]
    assert document["cells"][0]["goodput_bps"] == 16 * (1 << 20)
    page = (tmp_path / "interop.html").read_text()
    assert '<a href="#ours-to-1.1.2-4-clean">✕ 2.00</a>' in page
    assert "a &lt;gap&gt;" in page


ON_TWO_NETWORKS = matrix(["1.1.2"], [1], [0.0, 0.01])


@pytest.fixture
def resumed(tmp_path: Any, monkeypatch: Any) -> Any:
    """A matrix whose networks come out as told, in order; an error is raised after the first cell."""
    told: list[Trust | Exception] = []
    number = count(1)
    monkeypatch.setattr(engines.named("mininet").__class__, "width", lambda _engine: 1)

    class Network:
        def __init__(self, plan: Plan, *_others: Any) -> None:
            plan["run"] = f"20261121-000000-{next(number):04}"
            self.plan, self.provenance, self.site = plan, {"run": plan["run"]}, Site(plan, *4 * [cast(Any, None)])
            self.traffic: Any = self

        def measure(self) -> Trust:
            found = told.pop(0)
            for pairing in self.traffic.pairings[: None if isinstance(found, Trust) else 1]:
                folder = tmp_path / "cells" / pairing.folder / self.plan["run"]
                folder.mkdir(parents=True)
                (folder / "cell.json").write_text(json.dumps(asdict(result(pairing))))
            if isinstance(found, Exception):
                raise found
            return found

    monkeypatch.setattr(interop, "EmulatedRun", Network)

    def made(*come_out: Trust | Exception) -> Matrix:
        told[:] = come_out
        programs: Any = type("", (), {"policies": POLICIES, "binaries": {}})
        cells = interop.cells_of(ON_TWO_NETWORKS, [], True, programs, Choices("process"))
        return Matrix(cells, StudySpec("interop", "interop", cells, {}), tmp_path, QuietProgress())

    return made


def test_a_network_that_came_to_its_end_is_kept_and_a_stopped_one_made_again(resumed: Any, tmp_path: Any) -> None:
    with pytest.raises(Interrupted):
        resumed(TRUSTED, Interrupted("run.stopped", "stopped by SIGINT")).execute()
    document = json.loads((tmp_path / "interop.json").read_text())
    assert (document["verdict"], len(document["cells"])) == ("fail", 3), "finished cells are told"
    assert "stopped by SIGINT" in document["broken"]
    whole = resumed(TRUSTED).execute()  # one network is asked for, and no other
    assert (whole["verdict"], whole["broken"]) == ("pass", None)
    assert len(json.loads((tmp_path / "provenance.json").read_text())["networks"]) == 2
    assert resumed().execute() == whole


def test_an_untrusted_network_is_made_three_times_and_again_when_one_goes_on(resumed: Any) -> None:
    late = Trust(trusted=False, reasons=["late"])
    outcome = resumed(late, late, TRUSTED, late, late, late).execute()
    assert (outcome["verdict"], outcome["trust"]["reasons"]) == ("untrusted", ["1% loss: late"])
    assert resumed(TRUSTED).execute()["verdict"] == "pass"
