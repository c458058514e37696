"""All claims, from the file to the claims table: make the runs, judge, report."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from typing_extensions import NotRequired, TypedDict

from testbed import engines, paths
from testbed.documents import entry_of, write_json
from testbed.engines import Options, provenance
from testbed.judge.status import Status
from testbed.plan.default_engine import DEFAULT
from testbed.runtime.progress import Progress
from testbed.study.cell import ready
from testbed.study.claims import judged as table
from testbed.study.claims.beside import MODELS, TITLES
from testbed.study.claims.evidence import expected_of, judge
from testbed.study.claims.execute import Made, Runs
from testbed.study.claims.false_alarms import FalseAlarms
from testbed.study.claims.judged import SCHEMA, Judged
from testbed.study.claims.model import Claims, Source
from testbed.study.claims.report import write_report
from testbed.study.ledger import begin, kept_when_stopped

NAME = "all"


class SetupEntry(TypedDict):
    """A claim's set-up in ``claims.json``."""

    setup: str
    text: str
    differs: str
    beside: str


class BesideEntry(TypedDict):
    """A result of another engine that the claims were put beside."""

    engine: str
    run: str
    quick: bool


class Document(TypedDict):
    """``claims.json``."""

    schema: Literal[2]
    name: str
    run: str
    engine: str
    quick: bool
    only: list[str]
    complete: bool
    verdict: Status
    summary: str
    false_alarms: Annotated[dict[str, Any], entry_of(FalseAlarms, text=str)]
    minutes: float
    sources: dict[str, Annotated[dict[str, Any], entry_of(Source)]]
    setups: dict[str, SetupEntry]
    """By claim."""
    runs: dict[str, Annotated[dict[str, Any], entry_of(Made)]]
    claims: list[Annotated[dict[str, Any], entry_of(Judged, asked=bool, as_known=bool | None)]]
    beside: NotRequired[list[BesideEntry]]


@dataclass(frozen=True)
class Asked:
    """What the command line asks."""

    engine: str = DEFAULT
    quick: bool = False
    only: tuple[str, ...] = ()
    resume: str = ""
    link: Literal["auto", "netem", "relay"] = "auto"
    cluster: bool = False
    """Whether commands that make many runs have them made on the cluster."""

    @property
    def options(self) -> Options:
        """How the runs are made."""
        return Options(link=self.link, quick=self.quick)


def tell(claims: Claims, asked: Asked) -> None:
    """Print the runs with their commands, minutes and claims."""
    runs = Runs(claims.runs, Path(), engines.named(asked.engine), asked.quick, Progress(), asked.link)
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


def run(claims: Claims, asked: Asked, progress: Progress) -> tuple[Status, list[Judged], Path]:
    """The verdict, the claims and the result folder."""
    engine = engines.named(asked.engine)
    ready(engine, asked.options, progress, NAME)  # once, before runs that go side by side would each do it
    folder = begin(paths.results() / NAME, "claims", _identity(asked, claims), asked.resume)
    run_id = folder.name
    write_json(folder / "provenance.json", provenance.of_machine_and_code())
    runs = Runs(claims.runs, folder, engine, asked.quick, progress, asked.link, asked.cluster)
    minutes = sum(spec.expected_minutes(asked.engine, quick=asked.quick) for spec in claims.runs.values())
    progress.begun(NAME, run_id, asked.engine, folder, len(claims.runs), 60 * minutes)
    progress.say(
        f"{NAME} {run_id}: {len(claims.claims)} claims by {len(claims.runs)} runs, about {minutes:.0f} min, "
        f"results in {folder}"
    )
    progress.say(f"  {TITLES[asked.engine]}: {MODELS[asked.engine]}")
    start_s = time.monotonic()
    go_on = f"To go on: the same command with --engine {asked.engine} --resume {run_id}"
    with kept_when_stopped(progress, go_on):
        made = runs.run(list(claims.runs), lambda so_far: write(claims, asked, folder, run_id, so_far))
    found = write(claims, asked, folder, run_id, made, complete=True)
    write_report(folder)
    progress.say(f"  {(time.monotonic() - start_s) / 60:.1f} min")
    return table.verdict_of(found, quick=asked.quick), found, folder


def write(
    claims: Claims, asked: Asked, folder: Path, run_id: str, made: Mapping[str, Made], *, complete: bool = False
) -> list[Judged]:
    """``claims.json`` and ``claims.csv``: all that can be judged by the runs made so far."""
    found = []
    for name, claim in claims.claims.items():
        if complete or claim.run in made:
            run = made.get(claim.run) or Made.never(claim.run)
            found.append(judge(name, claim, run, folder, expected_of(name, claim, run, asked.engine)))
    document: Document = {
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


def _identity(asked: Asked, claims: Claims) -> dict[str, Any]:
    """What must be the same to go on."""
    return {
        "engine": asked.engine,
        "link": asked.link,
        "quick": asked.quick,
        "only": list(asked.only),
        "runs": {name: spec.model_dump() for name, spec in claims.runs.items()},
    }
