"""What the groups are made of, and in what they differ beside their figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from testbed.documents import read_json
from testbed.judge.status import Status
from testbed.study.compare.groups import Group, RunOf

SHOWN = ("scenario", "commit", "policy", "changed", "engine", "middle", "runtime", "quick", "kernel", "host")
"""In this order."""


def facts_of(group: Group) -> dict[str, str]:
    """The group's facts, by :data:`SHOWN`; several values of one fact are joined."""
    if group.facts is not None:
        return dict(group.facts)
    found: dict[str, list[str]] = {name: [] for name in SHOWN}
    for run in group.runs:
        for name, value in _of_run(run).items():
            if value and value not in found[name]:
                found[name].append(value)
    if len(group.cases) > 1:  # of many settings each has its own
        found["policy"], found["changed"] = [], []
    return {name: ", ".join(values) for name, values in found.items()}


def differing(groups: Sequence[Group]) -> list[tuple[str, list[str]]]:
    """The facts that are not the same in all groups, with each group's value."""
    facts = [facts_of(group) for group in groups]
    rows = [(name, [of[name] or "–" for of in facts]) for name in SHOWN]
    return [(name, values) for name, values in rows if len(set(values)) > 1]


def changed_checks(base: Group, other: Group) -> list[str]:
    """Checks that hold more or less often than in the first group, in words."""
    told = []
    names = list(dict.fromkeys(name for run in base.trusted for name in run.checks))
    for name in names:
        shares = []
        for group in (base, other):
            statuses = [
                run.checks[name] for run in group.trusted if run.checks.get(name, Status.SKIPPED) != Status.SKIPPED
            ]
            shares.append((sum(status == Status.PASS for status in statuses), len(statuses)))
        (held, of), (held_now, of_now) = shares
        if of and of_now and held / of != held_now / of_now:
            told.append(f"“{name}” holds in {held_now} of {of_now} runs, in {held} of {of} of {base.name}")
    return told


def _of_run(run: RunOf) -> dict[str, str]:
    plan = run.plan
    path = run.folder / "provenance.json"
    provenance: dict[str, Any] = read_json(path) if path.is_file() else {}
    commit = str(provenance.get("commit") or "")[:12]
    if commit and provenance.get("uncommitted_changes") and not provenance.get("of_commit"):
        commit += " and changes"
    kernel = provenance.get("kernel") or {}
    return {
        "scenario": str(plan["scenario"]),
        "commit": commit,
        "policy": ", ".join(dict.fromkeys(str(session["policy"]) for session in plan["sessions"])),
        "changed": ", ".join(plan.get("overrides", [])),
        "engine": str(plan["engine"]),
        "middle": str(plan["middle"]),
        "runtime": str(plan["runtime"]),
        "quick": "yes" if plan.get("quick") else "",
        "kernel": str(kernel.get("release", "")) if isinstance(kernel, dict) else "",
        "host": str(provenance.get("host") or ""),
    }
