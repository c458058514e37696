"""Judges the claims again, from the runs in the result folder of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed import confine
from testbed.documents import write_json
from testbed.judge.expected_failures import ExpectedFailure
from testbed.message import Message
from testbed.scenario.files import read
from testbed.study.checks import judged as table
from testbed.study.checks.claims import Made, expected_of, judge
from testbed.study.checks.judged import Judged, read_claims
from testbed.study.kinds.claims_file import load
from testbed.study.verify import Documents, Verification, VerifyRequest

FROM_THE_RUNS = ("verdict", "n", "figures", "intervals")
"""What comes of the runs; the rest of a claim is what was asked, or the same figures in words."""


def runs_of(folder: Path) -> list[tuple[str, Path]]:
    """The claims' runs, by name, that have a result folder."""
    runs: dict[str, Any] = read_claims(folder)["runs"]
    return [(name, confine.inside(folder, run["folder"])) for name, run in runs.items() if run["folder"]]


DOCUMENTS: Documents = {"claims.json": lambda path: read_claims(path.parent), "claims.csv": read}


def write_again(request: VerifyRequest) -> Verification:
    """By the runs and the claims of this checkout; what other code wrote of them beside is as recorded. BadInput where
    a file is missing or broken."""
    folder = request.folder
    document = read_claims(folder)
    known = load().claims
    recorded = {claim["id"]: claim for claim in document["claims"]}
    unchecked = [
        Message("claims.unknown", "{claim}: this checkout has no such claim", claim=name)
        for name in recorded
        if name not in known
    ]
    again: list[Judged] = []
    entries: list[Mapping[str, Any]] = []
    for name, before in recorded.items():
        if name not in known:
            again.append(Judged.from_json(before))
            entries.append(before)
            continue
        made = Made.from_json(document["runs"][known[name].run])
        if request.same_code:
            expected = expected_of(name, known[name], made, document["engine"])
        else:  # its list of expected failures is not this one
            expected = ExpectedFailure(**before["xfail"]) if before.get("xfail") else None
        now = judge(name, known[name], made, folder, expected)
        again.append(now)
        told = now.as_json()
        if request.same_code:
            entries.append({**told, "beside": before["beside"]})
        else:
            entries.append({**before, **{key: told[key] for key in FROM_THE_RUNS}})
    if document.get("beside"):
        unchecked.append(
            Message(
                "claims.beside-other-results",
                "what stands beside the claims is of other results, which are not in the folder",
            )
        )
    verdict = table.verdict_of(again, quick=bool(document["quick"]))
    summary = table.summary_of(again) if request.same_code else document["summary"]
    write_json(request.into / "claims.json", {**document, "verdict": verdict, "summary": summary, "claims": entries})
    if request.same_code:
        table.write_csv([Judged.from_json(claim) for claim in document["claims"]], request.into / "claims.csv")
    return Verification(f"claims {folder.resolve().name}", verdict, unchecked=unchecked, parts=runs_of(folder))
