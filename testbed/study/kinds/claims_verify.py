"""Judges the claims again, from the runs in the result folder of all of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from testbed import confine
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.verify import Difference, differences, text_differences
from testbed.message import Message
from testbed.scenario.files import read
from testbed.study.checks import judged as table
from testbed.study.checks.claims import Made, judge
from testbed.study.checks.judged import Judged, read_claims
from testbed.study.kinds.claims_file import load
from testbed.study.verify import Verification, VerifyRequest

FROM_THE_RUNS = ("verdict", "n", "figures", "intervals")
"""What comes of the runs; the rest of a claim is what was asked, or the same figures in words."""


def runs_of(folder: Path) -> list[tuple[str, Path]]:
    """The claims' runs, by name, that have a result folder."""
    runs: dict[str, Any] = read_claims(folder)["runs"]
    return [(name, confine.inside(folder, run["folder"])) for name, run in runs.items() if run["folder"]]


def verify(request: VerifyRequest) -> Verification:
    """The verdict by the runs, what differs from the record, and what could not be checked.

    The claims are those of this checkout, and where it made the folder every word of them is compared. BadInput where a
    file is missing or broken.
    """
    folder = request.folder
    document = read_claims(folder)
    known = load().claims
    recorded = {claim["id"]: claim for claim in document["claims"]}
    unchecked = [
        Message("claims.unknown", "{claim}: this checkout has no such claim", claim=name)
        for name in recorded
        if name not in known
    ]
    found: list[Difference] = []
    again: list[Judged] = []
    for name, before in recorded.items():
        if name not in known:
            again.append(Judged.from_json(before))
            continue
        made = Made.from_json(document["runs"][known[name].run])
        expected = ExpectedFailure(**before["xfail"]) if before.get("xfail") else None
        now = judge(name, known[name], made, folder, expected)
        again.append(now)
        found += _differences(name, before, now, words=request.same_code)
    if document.get("beside"):
        unchecked.append(
            Message(
                "claims.beside-other-results",
                "what stands beside the claims is of other results, which are not in the folder",
            )
        )
    verdict = table.verdict_of(again, quick=bool(document["quick"]))
    found += differences("verdict", document["verdict"], verdict)
    if request.same_code:
        found += differences("summary", document["summary"], table.summary_of(again))
        found += _csv(folder, [Judged.from_json(claim) for claim in document["claims"]])
    return Verification(f"claims {folder.resolve().name}", verdict, found, unchecked, parts=runs_of(folder))


def _differences(name: str, before: Mapping[str, Any], again: Judged, *, words: bool) -> Iterator[Difference]:
    now = json.loads(json.dumps(again.as_json()))
    keys = [key for key in now if key != "beside"] if words else FROM_THE_RUNS
    for key in keys:
        yield from differences(f"claims.{name}.{key}", before.get(key), now[key])


def _csv(folder: Path, claims: list[Judged]) -> Iterator[Difference]:
    """``claims.csv`` against ``claims.json``."""
    with tempfile.TemporaryDirectory(prefix="ncp-verify-") as place:
        table.write_csv(claims, Path(place, "claims.csv"))
        yield from text_differences("claims.csv", read(folder / "claims.csv"), read(Path(place, "claims.csv")))
