"""Which finished runs of a cell stand, and which are wanted again: one rule for whatever goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from testbed.engines import Engine
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.study.attempts import attempts_of


def finished(folder: Path) -> list[Path]:
    """The runs of a cell that have a verdict, in the order that they were made in; one that the user stopped has none
    that tells of the cell."""
    runs = sorted(path.parent for path in folder.glob("*/verdict.json") if not path.parent.is_symlink())
    return [run for run in runs if not read_verdict(run).stopped]


def standing(runs: Sequence[Path]) -> Path | None:
    """Of a cell's finished runs the one that it is judged by: the last that settles it, else the last."""
    return next((run for run in reversed(runs) if settles(run)), runs[-1] if runs else None)


def settles(run: Path) -> bool:
    """Whether a finished run says of its cell what there is to say: it came to a verdict that can be trusted, or to
    none for what this machine lacks."""
    verdict = read_verdict(run)
    return verdict.unsupported or (verdict.verdict != Status.UNTRUSTED and not verdict.broken)


def wanted_again(run: Path, engine: Engine) -> bool:
    """Whether going on makes a finished run again: one that broke down, as the reason may be gone, and an untrusted
    one but where it would be the same."""
    untrusted = read_verdict(run).verdict == Status.UNTRUSTED
    return not settles(run) and (attempts_of(engine) > 1 or not untrusted)
