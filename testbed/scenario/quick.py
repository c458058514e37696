"""The changes that ``--quick`` makes.

A file's ``quick`` section is applied to it: in a scenario overrides, as those of ``--set``; in a table values for its
own keys, such as ``repeat``, and overrides; in a sweep values for its own keys, such as ``seeds``. For runs of claims,
``claims.yaml`` has rows, columns and repetitions as well (:class:`testbed.study.kinds.claims_file.QuickRun`).

In a verdict, checks of a quick run may stay open, where at least one passes (:func:`testbed.judge.status.verdict_of`),
and a check over a time is judged over the part of it that there is (:mod:`testbed.judge.checks.evidence`).
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from testbed.plan.model import Variant
from testbed.scenario.overrides import apply_override


def apply_quick(path: Path, document: dict[str, Any], own: Collection[str] = ()) -> list[str]:
    """Apply a file's ``quick`` section; returns what it changes. Its keys that are ``own`` replace the document's, all
    others are a scenario's, dotted as for ``--set``."""
    changes = document.get("quick")
    if not isinstance(changes, dict):
        return []  # whatever else it is, the document's own validation tells
    for key, value in changes.items():
        if key in own:
            document[key] = value
        else:
            apply_override(document, str(key), value, origin=f"{path}: quick")
    return [f"{key}={value}" for key, value in changes.items()]


def variant_of(*, changed: object, quick: object) -> Variant:
    """The form of a run's scenario or table; ``changed``: by ``--set``, beyond the changes of ``--quick``."""
    return "changed" if changed else "quick" if quick else "full"
