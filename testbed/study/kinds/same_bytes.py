"""Tests of repeatability: each scenario is run several times with one seed, and once with another, and the data of its
runs are compared by SHA-256."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed import engines
from testbed.documents import write_json
from testbed.engines.engine import Options
from testbed.errors import BadInput, CannotRun, RunFailed
from testbed.judge.status import Status, verdict_of
from testbed.message import Messages
from testbed.plan.engines import REPEATABLE
from testbed.runtime.progress import Progress
from testbed.scenario.files import is_table
from testbed.scenario.load import LoadedScenario, load
from testbed.study.cell import ScenarioCell, folder_of, ready, refuse_unsupported
from testbed.study.kinds import table, table_file
from testbed.study.record import RunRecord, finished
from testbed.study.run import StudySpec, run_study
from testbed.study.verify import Documents, Verification, VerifyRequest, elsewhere

DATA = (".csv", ".json", ".jsonl", ".lp", ".pcap", ".sqlog")
"""Suffixes of data: measurements, samples, captures, traces and verdicts."""
NO_DATA = ("logs", "plots", "provenance.json")
"""Logs, drawings, and facts of the machine and the time of day."""
COSTS = {"sim.json": ("cpu_s", "peak_bytes")}
"""Keys of the cost of a simulation, which are left out of the comparison."""
TELEMETRY = "telemetry.lp"


@dataclass(frozen=True)
class Repetition:
    """Runs of a scenario, several with one seed and one with another, as in ``hashes.json``. It ``holds`` if all runs
    have the same files, no program in them ran without end, and the other seed gave other telemetry."""

    name: str
    holds: bool
    digest: str
    """Digest of all files of the first run, the same on another machine, in another folder and for another user."""
    differing: list[str]
    """Files that are not the same in all runs."""
    span: list[int]
    """Numbers (from 1) of runs with a program that ran without end, which are not called repeatable."""
    runs: list[dict[str, str]]
    """SHA-256 by the file's path in the run's folder."""
    other_seed: dict[str, str]

    def lines(self) -> list[str]:
        """Lines for the terminal: telemetry, captures, output of iperf3, and all files that differ."""
        same = self.other_seed.get(TELEMETRY) == self.runs[0].get(TELEMETRY)
        other = "the SAME telemetry" if same else "other telemetry"
        lines = [f"{self.name}: {len(self.runs)} runs with one seed; another seed: {other}"]
        files = sorted(set().union(*self.runs))
        for name in files:
            if name in self.differing:
                found = Counter(run.get(name, "") for run in self.runs).most_common()
                versions = (f"{digest[:12] or 'missing'} ×{n}" for digest, n in found)
                lines.append(f"  differs  {name}: {', '.join(versions)}")
            elif name == TELEMETRY or name.endswith(".pcap") or "iperf3" in name:
                lines.append(f"  same     {name}: {self.runs[0][name]}")
        lines.append(f"  {'differs' if self.differing else 'same':<8} all {len(files)} files: {self.digest}")
        if self.span:
            lines.append(f"  span     in runs {', '.join(map(str, self.span))}: not called repeatable")
        return lines


def judge(name: str, runs: Sequence[dict[str, str]], span: Sequence[int], other_seed: dict[str, str]) -> Repetition:
    """Compares the SHA-256 of each run's data files."""
    first = runs[0]
    differing = sorted(name for name in set().union(*runs) if any(run.get(name) != first.get(name) for run in runs))
    digest = hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in sorted(first.items())).encode())
    seed_matters = other_seed.get(TELEMETRY) != first.get(TELEMETRY)
    holds = TELEMETRY in first and not differing and not span and seed_matters
    return Repetition(name, holds, digest.hexdigest(), differing, list(span), list(runs), other_seed)


def verdict_over(holds: Iterable[bool]) -> Status:
    """Verdict of all scenarios, of which each holds or not."""
    return verdict_of([Status.PASS if one else Status.FAIL for one in holds])


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of the data files in a run's result folder, in the order of their paths."""
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.suffix in DATA}
    data = sorted((name, path) for name, path in paths.items() if path.is_file() and name.split("/")[0] not in NO_DATA)
    return {name: hashlib.sha256(_compared(path)).hexdigest() for name, path in data}


def _compared(path: Path) -> bytes:
    if path.name not in COSTS:
        return path.read_bytes()
    document = json.loads(path.read_bytes())
    return json.dumps({key: document[key] for key in document if key not in COSTS[path.name]}).encode()


def loaded_of(name: str, assignments: Sequence[str], *, quick: bool) -> LoadedScenario:
    """Loads a scenario, or a table's cell (TABLE/ROW/COLUMN); raises BadInput."""
    of_table, *place = name.split("/")
    if len(place) != 2 or not is_table(of_table):
        return load(name, assignments, quick=quick)
    loaded = table_file.load(of_table, assignments, quick=quick)
    policies = engines.named(REPEATABLE).prepare_plans(Progress()).policies
    found = table.select(loaded, table.TableRequest(rows=place[0], columns=place[1]), policies)
    (row, *more), (column, *others) = found.rows.values(), found.columns.values()
    if more or others or column.carrier:
        raise BadInput("compare.column-not-a-scenario", f"{name}: should be one cell, whose column has no carrier")
    return table_file.scenario_of(loaded, row, column)


@dataclass(frozen=True, eq=False)
class RepeatedCell(ScenarioCell):
    """A numbered run (from 1) of a scenario; the last has another seed. Its record has the SHA-256 of its data, and is
    ``exact`` if no program in it ran without end."""

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """Run to the verdict; raises RunFailed where the run broke down."""
        found = super().run(study, progress)
        folder = study / found.folder
        if found.status == Status.ERROR:
            raise RunFailed("run.broke-down", f"{self.label}: {found.reason}", f"Data and logs so far: {folder}")
        return found.model_copy(update={"sha256": digests(folder)})


def run(
    scenarios: Mapping[str, LoadedScenario], options: Options, runs: int, base: Path, resume: str = ""
) -> tuple[list[Repetition], Path]:
    """Run and compare; returns the repetitions and the result folder, with ``hashes.json``. Folders of runs that equal
    the first are removed. Raises CannotRun without a deterministic engine."""
    progress, engine = Progress(), engines.named(REPEATABLE)
    programs = ready(engine, options, progress, "repeatable")
    if not engine.deterministic():
        raise CannotRun(
            "vkernel.not-built", "the guest kernel with virtual time is not built", "./run.sh doctor --build builds it."
        )
    cells: dict[str, list[ScenarioCell]] = {}
    for name, loaded in scenarios.items():
        first = RepeatedCell({}, loaded, engine.choices(options), programs)
        points = [{"scenario": name.replace("/", "-"), "run": str(number)} for number in range(1, runs + 2)]
        cells[name] = [first.with_seed(at, first.seed + (n == runs)) for n, at in enumerate(points)]
    every = [cell for of in cells.values() for cell in of]
    refuse_unsupported(every)
    overrides = {name: list(loaded.overrides) for name, loaded in scenarios.items()}
    identity = {"scenarios": overrides, "runs": runs, "seed": options.seed, "quick": options.quick}
    spec = StudySpec("repetitions", "repeatable", every, identity)
    folder = spec.begin(base, resume)
    results = run_study(spec, folder, progress, describe=lambda result: result.status)
    judged = []
    for name, of in cells.items():
        records = [results[cell.id].record for cell in of]
        *data, other = [one.sha256 or digests(folder / one.folder) for one in records]
        judged.append(judge(name, data, [n for n, one in enumerate(records[:-1], 1) if not one.exact], other))
        for cell in (cell for cell, files in zip(of[1:-1], data[1:], strict=True) if files == data[0]):
            shutil.rmtree(folder / cell.folder, ignore_errors=True)  # already removed, if the test is resumed
    write_json(folder / "hashes.json", [asdict(repetition) for repetition in judged])
    return judged, folder


DOCUMENTS: Documents = {"hashes.json": lambda file: json.loads(file.read_bytes())}


def write_again(request: VerifyRequest) -> Verification:
    """Compare the runs in the folder again, others by their recorded hashes; raises BadInput for a missing or broken
    file."""
    folder = request.folder.resolve()
    unchecked, judged = Messages(), []
    for entry in json.loads((folder / "hashes.json").read_bytes()):
        name, recorded = entry["name"], [*entry["runs"], entry["other_seed"]]
        kept = [finished(folder / folder_of(name.replace("/", "-"), str(n))) for n in range(1, len(recorded) + 1)]
        *data, other = [digests(runs[-1]) if runs else before for runs, before in zip(kept, recorded, strict=True)]
        judged.append(judge(name, data, entry["span"], other))
        if not (kept[0] and kept[-1]):
            unchecked.append(elsewhere(name))
    write_json(request.into / "hashes.json", [asdict(repetition) for repetition in judged])
    verdict = verdict_over(repetition.holds for repetition in judged)
    return Verification(f"repeatable {folder.name}", verdict, unchecked=unchecked, has_page=False)
