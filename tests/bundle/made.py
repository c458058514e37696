"""Result folders to be forged: one of the simulator, and one as a run on real packets leaves it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

from testbed.archive.kinds import verify_folders
from testbed.engines import provenance
from testbed.engines.emulation import calibration, timeline
from testbed.engines.judging import judge_from
from testbed.engines.sim.run import SimulatedRun, run_id, simulate
from testbed.judge.checks.result import Trust
from testbed.judge.trust.machine import HOST_LOAD, write_spans
from testbed.judge.trust.reasons import of_measurements
from testbed.machine import build
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.results.report.render import write_report
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import LoadedScenario, load
from testbed.series import FromFile
from testbed.study.verify import Verification
from tests import collected

SCENARIO = """\
name: forged
title: Two links, one of which gets slower
source: tests
topology: parallel
links:
  - {name: fast, rate: 1024pps, delay: 50ms}
  - {name: slow, rate: 128pps, delay: 50ms}
ncp: {policy: nkp24, transfer: 4MiB, send_window: 4MiB, mtu: 1024}
timeline:
  - {at: 1s, do: set, link: slow, rate: 64pps}
checks:
  - {name: final window ratio, judge: ratio, series: window_packets, of: [1, 2], last: 1s, min: 1, max: 9}
  - {name: payload, judge: payload_intact}
  - {name: database, judge: points_stored}
"""
PROGRESS = QuietProgress()
VIRTUAL_START_NS = 946_684_800_000_000_000


def loaded(place: Path) -> LoadedScenario:
    file = place / "forged.yaml"
    file.write_text(SCENARIO)
    return load(str(file), ["links.fast.delay=40ms"])


def simulated(place: Path, scenario: LoadedScenario | None = None, *, paged: bool = True) -> Path:
    """A run in virtual time, to its verdict, and with its page."""
    simulator = build.build_programs("ncp-sim")["ncp-sim"]
    choices = Choices("virtual", "model", 3, engine="sim")
    scenario = scenario or loaded(place)
    plan = resolve(scenario, build.policy_facts(simulator), choices, "sim")
    plan["run"] = run_id(plan)
    run = SimulatedRun(plan, scenario, {"ncp-sim": simulator}, PROGRESS, place)
    run.without_database(None)
    write_provenance(run.folder, plan, {})
    if paged:
        write_report(run.folder)
    folder: Path = run.folder
    return folder


def emulated(place: Path) -> Path:
    """What a run on real packets leaves, with the simulator's telemetry, and a machine and links that are good."""
    simulator = build.build_programs("ncp-sim")["ncp-sim"]
    scenario = loaded(place)
    choices = Choices("process", "relay", 3)
    plan = resolve(scenario, build.policy_facts(simulator), choices, new_run_id())
    folder: Path = place / plan["run"]
    (folder / "logs").mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(plan, indent=1))
    (folder / "scenario.yaml").write_text(scenario.text)
    simulate(folder, simulator)
    (folder / "sim.json").unlink()
    move_to_now(folder)
    spans = add_collected(folder / "telemetry.lp", plan)
    write_spans(spans, folder / HOST_LOAD)
    probe = {"links": [_probed(link, direction) for link in plan["links"] for direction in ("ab", "ba")]}
    (folder / calibration.PROBE).write_text(json.dumps(probe))
    relay = {"links": collected.relayed(plan, unasked_drops={"queue": 0}), "ring_drops": 0}
    (folder / "relay.json").write_text(json.dumps(relay))
    qdiscs = collected.counted(plan)
    calibration.write_csv(calibration.readings_of(plan, probe), folder / "links.csv")
    timeline.write_csv(folder / "telemetry.lp", folder / "events.csv")
    write_provenance(folder, plan, {"qdiscs_after": qdiscs})
    reader = FromFile(folder / "telemetry.lp")
    points = reader.count_points()
    judge_from(
        plan,
        folder,
        reader,
        of_measurements(
            plan, links=folder / "links.csv", relay=relay, qdiscs=qdiscs, host_load=spans, events=reader.events()
        ),
        points,
        points,
    )
    write_report(folder)
    return folder


def write_provenance(folder: Path, plan: Any, facts: dict[str, Any]) -> None:
    document = {**provenance.of_machine_and_code(), "run": provenance.of_plan(plan), **facts}
    provenance.write(folder, document)


def move_to_now(folder: Path) -> None:
    """Take the simulator's times, which begin in 2000, to the present."""
    telemetry, by_ns = folder / "telemetry.lp", time.time_ns() - VIRTUAL_START_NS
    lines = (line.rsplit(" ", 1) for line in telemetry.read_text().splitlines())
    telemetry.write_text("".join(f"{point} {int(at_ns) + by_ns}\n" for point, at_ns in lines))
    for result in (folder / "agents").glob("*.json"):
        document = json.loads(result.read_text())
        for key in ("started_unix_ns", "finished_unix_ns"):
            document[key] += by_ns
        result.write_text(json.dumps(document))


def add_collected(telemetry: Path, plan: Any) -> list[tuple[float, float]]:
    """Add the samples of host and collectors for as long as the simulator's; returns the host's spans."""
    lines = telemetry.read_text().splitlines()
    times_ns = collected.every_interval(lines)
    spans = [(0.1, 0.8)] * len(times_ns)
    telemetry.write_text("".join(f"{line}\n" for line in [*lines, *collected.telemetry(plan, times_ns, spans)]))
    return spans


def _probed(link: Any, direction: str) -> dict[str, Any]:
    return {
        "link": link["name"],
        "direction": direction,
        "delay_ms": link["delay_ms"] + 0.05,
        "delay_p99_ms": link["delay_ms"] + 0.1,
        "rate_bps": link["rate_bps"] * 0.999,
        "loss": 0.0,
        "sent": 1500,
        "received": 1500,
    }


def derive_again(folder: Path) -> None:
    """All that follows from a forged run's raw data and plan, made to fit."""
    reader = FromFile(folder / "telemetry.lp")
    plan = json.loads((folder / "plan.json").read_text())
    judge_from(plan, folder, reader, Trust(trusted=True), reader.count_points(), None)


def forge_telemetry(folder: Path) -> None:
    """Other round trips, with all that follows from them."""
    telemetry = folder / "telemetry.lp"
    telemetry.write_text(re.sub(r"rtt_ms=(\d)", r"rtt_ms=1\1", telemetry.read_text()))
    derive_again(folder)


def edit(file: Path, **changes: Any) -> None:
    """Other values of a JSON document."""
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}, indent=1, ensure_ascii=False) + "\n")


def verify_folder(folder: Path, *, rerun: bool = False, trust_code: bool = False) -> Verification:
    """Judge one result again from its own data."""
    (verified,) = verify_folders([folder], rerun=rerun, trust_code=trust_code)
    return verified
