"""All claims, from the file to the claims table: make the runs, judge, report."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from testbed import build, paths
from testbed.claims import judged as table
from testbed.claims.beside import MODELS, TITLES
from testbed.claims.evidence import judge
from testbed.claims.execute import Made, Runs
from testbed.claims.false_alarms import FalseAlarms
from testbed.claims.judged import Judged
from testbed.claims.model import Claims, Engine
from testbed.claims.report import write_report
from testbed.errors import BadInput
from testbed.judge import algebra
from testbed.matrix.outcome import write_json
from testbed.plan.resolve import new_run_id
from testbed.runner import provenance
from testbed.runner.interrupts import interruptible
from testbed.runner.progress import Progress
from testbed.vkernel.build import ready_kernel

NAME = "all"
SCHEMA = 1


@dataclass(frozen=True)
class Asked:
    """What the command line asks."""

    engine: Engine = "mininet"
    quick: bool = False
    only: tuple[str, ...] = ()
    resume: str = ""
    link: Literal["auto", "netem", "relay"] = "auto"


def tell(claims: Claims, asked: Asked) -> None:
    """Print the runs with their commands, minutes and claims."""
    runs = Runs(claims.runs, Path(), asked.engine, asked.quick, Progress(), asked.link)
    minutes = 0.0
    for name, spec in claims.runs.items():
        expected = spec.expected_minutes(asked.engine, quick=asked.quick)
        left_out = asked.quick and spec.quick.leave_out
        minutes += 0 if left_out else expected
        print(f"{expected:5.1f} min {spec.disk_mb:4.0f} MB  ./run.sh {' '.join(runs.arguments(name, spec))}")
        if left_out:
            print(f"      left out: {left_out}")
        for claim_id, claim in claims.claims.items():
            if claim.run == name:
                print(f"      {claim_id}: {claim.text}")
    print(f"{len(claims.claims)} claims, {len(claims.runs)} runs, about {minutes:.0f} min")


def run(claims: Claims, asked: Asked, progress: Progress) -> tuple[algebra.Word, list[Judged], Path]:
    """The verdict, the claims and the result folder."""
    # Once, before runs that go side by side would each do it.
    with progress.step("build"):
        build.build_programs(*(["ncp-sim"] if asked.engine == "sim" else []))
    if asked.engine == "vkernel":
        ready_kernel(progress)
    run_id, folder = _folder(asked, claims)
    write_json(folder / "provenance.json", provenance.of_machine_and_code())
    runs = Runs(claims.runs, folder, asked.engine, asked.quick, progress, asked.link)
    minutes = sum(spec.expected_minutes(asked.engine, quick=asked.quick) for spec in claims.runs.values())
    progress.say(
        f"{NAME} {run_id}: {len(claims.claims)} claims by {len(claims.runs)} runs, about {minutes:.0f} min, "
        f"results in {folder}"
    )
    progress.say(f"  {TITLES[asked.engine]}: {MODELS[asked.engine]}")
    start_s = time.monotonic()
    made: dict[str, Made] = {}

    def keep(so_far: dict[str, Made]) -> None:
        made.update(so_far)
        write(claims, asked, folder, run_id, made)

    try:
        with interruptible():
            runs.make(keep)
    except BaseException:
        progress.say(
            f"stopped; what is finished is kept. To go on: the same command with --engine {asked.engine} "
            f"--resume {run_id}"
        )
        raise
    found = write(claims, asked, folder, run_id, made, complete=True)
    write_report(folder)
    progress.say(f"  {(time.monotonic() - start_s) / 60:.1f} min")
    return table.verdict_of(found, quick=asked.quick), found, folder


def write(
    claims: Claims, asked: Asked, folder: Path, run_id: str, made: Mapping[str, Made], *, complete: bool = False
) -> list[Judged]:
    """``claims.json`` and ``claims.csv``: all that can be judged by the runs made so far."""
    found = [
        judge(name, claim, made.get(claim.run) or Made.never(claim.run), folder)
        for name, claim in claims.claims.items()
        if complete or claim.run in made
    ]
    document = {
        "schema": SCHEMA,
        "name": NAME,
        "run": run_id,
        "engine": asked.engine,
        "quick": asked.quick,
        "only": list(asked.only),
        "complete": complete,
        "verdict": table.verdict_of(found, quick=asked.quick),
        "summary": table.summary_of(found),
        "false_alarms": FalseAlarms.of(found).as_json(),
        "minutes": round(sum(one.seconds for one in made.values()) / 60, 1),
        "sources": {name: source.model_dump() for name, source in claims.sources.items()},
        "setups": {
            name: {
                "setup": claim.setup,
                "text": claims.setups[claim.setup].in_words(),
                "differs": claim.holds_with(),
                "beside": claim.beside or "",
            }
            for name, claim in claims.claims.items()
        },
        "runs": {name: asdict(one) for name, one in made.items()},
        "claims": [claim.as_json() for claim in found],
    }
    write_json(folder / "claims.json", document)
    table.write_csv(found, folder / "claims.csv")
    return found


def _folder(asked: Asked, claims: Claims) -> tuple[str, Path]:
    """The id and result folder: new ones, or those of one to go on with."""
    base = paths.results() / NAME
    this = _identity(asked, claims)
    if asked.resume:
        folder = (base / asked.resume).resolve()
        if not (folder / "all.json").is_file():
            raise BadInput(f"--resume {asked.resume}: {folder} is no result folder of all claims")
        before = json.loads((folder / "all.json").read_text())
        for key, value in this.items():
            if before.get(key) != value:
                raise BadInput(
                    f"--resume {asked.resume}: that one was begun with another {key}; give the same options, or "
                    "start a new one"
                )
        return folder.name, folder
    run_id = new_run_id()
    folder = base / run_id
    folder.mkdir(parents=True)
    write_json(folder / "all.json", this)
    latest = base / "latest"
    latest.unlink(missing_ok=True)
    latest.symlink_to(run_id)
    return run_id, folder


def _identity(asked: Asked, claims: Claims) -> dict[str, Any]:
    """What must be the same to go on."""
    document = {
        "engine": asked.engine,
        "link": asked.link,
        "quick": asked.quick,
        "only": list(asked.only),
        "runs": {name: spec.model_dump() for name, spec in claims.runs.items()},
    }
    return dict(json.loads(json.dumps(document)))
