"""Every field of telemetry is held against another source: what is changed in a sound run is noticed, or named as not
held."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.engines.sim.run import simulate
from testbed.judge.checks.evidence import Evidence, agent_results
from testbed.judge.trust import links, telemetry
from testbed.message import Message
from testbed.plan.model import Plan
from testbed.series import FromFile
from tests.golden import plans
from tests.golden.messages import CATALOGUE
from tools.reference import HELD_FIELDS, NOT_JUDGED, Field

HELD = [field for field in HELD_FIELDS if field.codes]
LOSSY = (
    "links=[{name: a, rate: 1024pps, delay: 50ms, loss: 1%, queue: 2 packets},"
    " {name: b, rate: 1024pps, delay: 50ms, loss: 10%, queue: 2 packets}]",
    "ncp.transfer=8MiB",
)
DROPPING = (
    "links=[{name: a, rate: 1024pps, delay: 50ms, queue: {mode: droptail, limit: 10 packets}},"
    " {name: b, rate: 128pps, delay: 50ms}]",
    "ncp.policy=previous",
    "ncp.transfer=8MiB",
)
SLOW_ROUND_TRIPS = (
    "links=[{name: a, rate: 1024pps, delay: 50ms, queue: 1000 packets},"
    " {name: b, rate: 128pps, delay: 500ms, queue: 1000 packets}]",
    "ncp.transfer=8MiB",
)
TURN_BY_TURN = (
    "links=[{name: a, rate: 1024pps, delay: 50ms, queue: 1 packets},"
    " {name: b, rate: 1024pps, delay: 500ms, queue: 1 packets}]",
    "ncp.transfer=40MiB",
)
"""Each packet of a connection stands between two of the other, so that acknowledgements have too few ranges."""
MUCH_LOSS = ("links.fast.loss=10%", "links.slow.loss=10%")
RUNS = {
    "startup": (),
    "lossy": LOSSY,
    "dropping": DROPPING,
    "slow round trips": SLOW_ROUND_TRIPS,
    "much loss": MUCH_LOSS,
    "turn by turn": TURN_BY_TURN,
}
"""What is changed in ``startup`` for each."""
WHERE = {"achieved_loss": "lossy", "loss": "lossy", "resent": "lossy", "lost": "lossy", "drops": "dropping"}
"""Runs in which a field is not 0."""
NOT_IN_A_SIMULATION = ("interface", "event")
"""Measurements that no simulation has, or of which nothing is a number."""
_folders: dict[str, Path] = {}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    @cache
    def made(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        (folder / "logs").mkdir()
        plan = plans.plan_of("startup", *RUNS[name], engine="sim", quick=True, checkout=str(paths.CHECKOUT))
        (folder / "plan.json").write_text(json.dumps(plan))
        simulate(folder, plans.programs().binaries["ncp-sim"])
        return folder

    return made


def found_in(
    folder: Path, lines: list[str] | None = None, results: list[dict[str, Any]] | None = None
) -> list[Message]:
    """What is not believed of a run, with its points or results changed."""
    plan: Plan = json.loads((folder / "plan.json").read_text())
    file = folder / "telemetry.lp"
    if lines is not None:
        file = folder / "changed.lp"
        file.write_text("".join(f"{line}\n" for line in lines))
    evidence = Evidence(plan, FromFile(file), results or agent_results(folder / "agents"))
    return [*telemetry.violations(evidence), *links.of_simulated(evidence)]


def times(field: Field, factor: float, line: str) -> str:
    """The field multiplied, as a program would have it that is wrong by that factor."""
    if not line.startswith(f"{field.measurement},") or (field.role and f"role={field.role}" not in line):
        return line

    def changed(found: re.Match[str]) -> str:
        text = found[1]
        return (
            f"{field.name}={int(int(text[:-1]) * factor)}i"
            if text.endswith("i")
            else f"{field.name}={float(text) * factor!r}"
        )

    return re.sub(rf"(?<=[ ,]){field.name}=([^, ]+)", changed, line)


@pytest.mark.parametrize(
    ("field", "factor"),
    [
        pytest.param(field, factor, id=f"{field.measurement}-{field.role}-{field.name}-{factor}")
        for field in HELD
        if field.measurement not in NOT_IN_A_SIMULATION
        for factor in (0.5, 2.0)
        # Less than the session's window is for checks to see.
        if not (field.name == "window_packets" and factor < 1)
    ],
)
def test_a_field_that_is_wrong_is_noticed(field: Field, factor: float, runs: Callable[[str], Path]) -> None:
    folder = runs(WHERE.get(field.name, "startup"))
    lines = (folder / "telemetry.lp").read_text().splitlines()
    codes = {said.code for said in found_in(folder, [times(field, factor, line) for line in lines])}
    assert codes & set(field.codes), codes


@pytest.mark.parametrize("name", RUNS)
def test_a_sound_run_is_believed(name: str, runs: Callable[[str], Path]) -> None:
    assert found_in(runs(name)) == []


RESULTS: Mapping[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "delivered twice": ("receiver", lambda c: c.update(delivered=2 * c["delivered"])),
    "every third arrival not counted": ("receiver", lambda c: c.update(received=2 * c["received"] // 3)),
    "fewer delivered": ("receiver", lambda c: c.update(delivered=c["delivered"] - 1)),
    "fewer sent": ("sender", lambda c: c.update(sent=c["sent"] - 1)),
    "no loss counted": ("sender", lambda c: c.update(lost=0)),
    "acknowledged twice": ("sender", lambda c: c.update(acked=2 * c["acked"])),
    "resent as new": ("sender", lambda c: c.update(resent=0)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_count_that_is_wrong_at_the_end_is_noticed(name: str, runs: Callable[[str], Path]) -> None:
    folder = runs("lossy")
    role, change = RESULTS[name]
    results = copy.deepcopy(agent_results(folder / "agents"))
    for result in results:
        for connection in result["connections"] if result["role"] == role else ():
            change(connection)
    assert any(said.code.startswith("counts.") for said in found_in(folder, results=results))


def test_a_receiver_that_copies_the_senders_digest_is_noticed(runs: Callable[[str], Path]) -> None:
    folder = runs("startup")
    results = [
        {**result, "crc32": result["crc32"] ^ 1} if "crc32" in result else result
        for result in agent_results(folder / "agents")
    ]
    assert [said.code for said in found_in(folder, results=results)] == ["payload.digest-copied"]


def test_a_sender_of_other_bytes_than_the_plans_is_noticed(runs: Callable[[str], Path]) -> None:
    folder = runs("startup")
    results = [{**result, "sha256": "0" * 64} for result in agent_results(folder / "agents")]
    assert [said.code for said in found_in(folder, results=results)] == ["payload.not-the-plans"]


def test_goodput_in_bytes_is_noticed(runs: Callable[[str], Path]) -> None:
    folder = runs("startup")
    results = [{**result, "goodput_bps": result["goodput_bps"] / 8} for result in agent_results(folder / "agents")]
    assert [said.code for said in found_in(folder, results=results)] == 2 * ["counts.goodput-off"]


def test_points_of_a_connection_that_is_not_planned(runs: Callable[[str], Path]) -> None:
    folder = runs("startup")
    lines = (folder / "telemetry.lp").read_text().splitlines()
    more = [line.replace("connection=2", "connection=3") for line in lines if "connection=2," in line]
    assert "telemetry.unplanned" in {said.code for said in found_in(folder, [*lines, *more])}


def fields_of(folder: Path) -> set[tuple[str, str]]:
    """Measurement and name of all fields that a run wrote."""
    found = set()
    for line in (folder / "telemetry.lp").read_text().splitlines():
        head, fields = line.split(" ")[:2] if not line.startswith("event,") else (line.split(" ")[0], "at_s=0,text=0")
        found |= {(head.split(",")[0], each.split("=")[0]) for each in fields.split(",")}
    return found


def in_contracts() -> set[tuple[str, str]]:
    """Measurement and name of all fields that docs/contracts.md has in its table of telemetry."""
    text = (paths.CHECKOUT / "docs" / "contracts.md").read_text(encoding="utf-8")
    table = text.split("## Telemetry")[1].split("`link` exists for both")[0]
    rows = re.findall(r"^\| `(\w+)`[^|]*\|[^|]*\| (.*) \|$", table, re.MULTILINE)
    return {
        (measurement, name)
        for measurement, fields in rows
        for name in re.findall(
            r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b|\b(?:bytes|drops|loss|sent|resent|acked|lost|text)\b",
            re.sub(r"\([^)]*\)", "", fields),
        )
        if not fields.startswith("the same")
    }


def test_every_field_is_in_the_table(runs: Callable[[str], Path]) -> None:
    there = {(field.measurement, field.name) for field in HELD_FIELDS}
    written = {pair for pair in fields_of(runs("startup")) | in_contracts() if pair[0] not in NOT_JUDGED}
    assert written <= there
    assert there - written <= {("link", "unasked_drops")}


def test_every_code_is_one_of_a_message() -> None:
    known = CATALOGUE.read_text(encoding="utf-8")
    assert [code for field in HELD_FIELDS for code in field.codes if f"{code}\t" not in known] == []
