"""The kinds of result folders, and how each is judged again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from testbed.checks.verify import read_json, read_verdict
from testbed.errors import BadInput

Kind = Literal["run", "table", "sweep", "comparison", "claims"]

_MARKS: tuple[tuple[str, Kind], ...] = (
    ("plan.json", "run"), ("matrix.json", "table"), ("sweep.yaml", "sweep"), ("compare.json", "comparison"),
    ("claims.json", "claims"),
)  # fmt: skip


@dataclass(frozen=True)
class Verified:
    """A result folder, judged again. ``differences`` are from what it holds, in words; ``notes`` say what could not be
    judged again, and why."""

    name: str
    verdict: str
    differences: list[str]
    notes: list[str]
    checks: list[str]


def kind_of(folder: Path) -> Kind:
    """By the files that it has; BadInput where it is none."""
    if not folder.is_dir():
        raise BadInput(f"{folder}: there is no such result folder")
    for file, kind in _MARKS:
        if (folder / file).is_file():
            return kind
    raise BadInput(f"{folder}: is no result folder: it has none of {', '.join(file for file, _ in _MARKS)}")


def runs_in(folder: Path) -> Iterator[Path]:
    """The folders of single runs in a result folder, itself included, in the order of their names."""
    for plan in sorted(folder.rglob("plan.json")):
        if not plan.parent.is_symlink():
            yield plan.parent


def verify_folder(folder: Path) -> Verified:
    """Judge it again from its own data; BadInput where a file is missing or broken."""
    return _VERIFY[kind_of(folder)](folder)


def _run(folder: Path) -> Verified:
    from testbed.checks.verify import verify

    verdict, differences = verify(folder)
    checks = [f"{check.status:<11} {check.name}: {check.reason}" for check in verdict.checks]
    return Verified(f"{verdict.scenario} {verdict.run}", verdict.verdict, differences, [], checks)


def _table(folder: Path) -> Verified:
    from testbed.matrix.verify import verify_table

    verdict, differences, runs = verify_table(folder)
    checks = [f"{check.status:<11} {check.name}: {check.reason}" for check in verdict.checks]
    notes = [f"{runs} runs were judged again, and the table from them"]
    return Verified(f"{verdict.scenario} {verdict.run}", verdict.verdict, differences, notes, checks)


def _sweep(folder: Path) -> Verified:
    from testbed.sweep.verify import verify_sweep

    verdict, differences = verify_sweep(folder)
    note = (
        "a sweep keeps figures, not telemetry: they are taken as they are; the same command gives them again"
    )
    return Verified(f"{verdict.scenario} {verdict.run}", verdict.verdict, differences, [note], [])


def _comparison(folder: Path) -> Verified:
    from testbed.compare.verify import verify_comparison

    words, differences, notes = verify_comparison(folder)
    for run in runs_in(folder):
        if not read_verdict(run).broken:
            differences += [f"{run.relative_to(folder)}: {text}" for text in _run(run).differences]
    name = str(read_json(folder / "compare.json")["name"])
    return Verified(f"comparison {name}", ", ".join(words), differences, notes, [])


def _claims(folder: Path) -> Verified:
    from testbed.claims.verify import runs_of, verify_claims

    verdict, differences, notes = verify_claims(folder)
    runs = runs_of(folder)
    for name, run in runs:
        differences += [f"{name}: {text}" for text in verify_folder(run).differences]
    notes.insert(0, f"{len(runs)} runs, tables and sweeps were judged again, and the claims from them")
    return Verified(f"claims {folder.resolve().name}", verdict, differences, notes, [])


_VERIFY = {"run": _run, "table": _table, "sweep": _sweep, "comparison": _comparison, "claims": _claims}
