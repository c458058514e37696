"""Writes the claims page: ``report.html`` and ``plots/``, from ``claims.json`` and the runs' small files alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed import confine
from testbed.documents import read_json
from testbed.judge.status import Status
from testbed.results.report import words
from testbed.results.report.page_templates import page_templates, write_html
from testbed.study.checks.beside import MODELS, TITLES
from testbed.study.checks.judged import Judged, is_as_known, read_claims
from testbed.study.report import claims_plots as plots

_HERE = Path(__file__).parent / "templates"
_KINDS = {
    "claim": "claim",
    "changed": "changed set-up",
    "correction": "correction",
    "beyond": "beyond the source",
    "measurement": "measured only",
}


def write_report(folder: Path) -> Path:
    """The page's path. The same folder gives the same bytes; BadInput where a file is missing or broken."""
    document = read_claims(folder)
    provenance = folder / "provenance.json"
    claims = [Judged.from_json(entry) for entry in document["claims"]]
    drawn = [plot for plot in [plots.against_published(claims)] if plot is not None]
    for name, run in document["runs"].items():
        if run["folder"]:
            drawn += plots.of_run(name, confine.inside(folder, run["folder"]))
    besides = document.get("beside", [])
    engines = [*(other["engine"] for other in besides), document["engine"]]
    setups = document.get("setups", {})
    shown = [(claim.source, _shown(claim, folder, engines) | {"setup": setups.get(claim.id)}) for claim in claims]
    groups = [
        (source, [claim for of, claim in shown if of == name])
        for name, source in document["sources"].items()
        if any(of == name for of, _ in shown)
    ]
    return write_html(
        folder,
        page_templates(_HERE),
        "claims.html.j2",
        drawn,
        all=document,
        model=MODELS[document["engine"]],
        besides=[{**other, "title": TITLES[other["engine"]], "model": MODELS[other["engine"]]} for other in besides],
        engines=[TITLES[engine] for engine in engines],
        wide=len(engines) > 1,
        machine=_machine(read_json(provenance) if provenance.is_file() else {}),
        groups=groups,
        kinds=list(dict.fromkeys((claim["word"], claim["status"]) for _, claim in shown)),
    )


def _shown(claim: Judged, folder: Path, engines: Sequence[str]) -> dict[str, Any]:
    """A claim as the page has it, on each of the engines, the last of which is the page's own.

    What is not in the folder is named, not linked."""
    word, status = _badge(claim, claim.verdict)
    there = claim.report and ":" not in claim.report and confine.inside(folder, claim.report).is_file()
    report = claim.report if there else ""
    own = {"word": word, "status": status, "measured": claim.measured, "n_told": claim.n_told}
    sides: list[dict[str, Any]] = []
    for engine in engines[:-1]:
        found = claim.beside.get(engine)
        if found is None:
            sides.append({**_NOTHING, "title": TITLES[engine]})
            continue
        word, status = _badge(claim, found["verdict"])
        reason = found["reason"] if found["verdict"] != claim.verdict else ""
        sides.append(
            {
                **_NOTHING,
                "n_told": found["n"],
                **found,
                "title": TITLES[engine],
                "word": word,
                "status": status,
                "reason": reason,
            }
        )
    differences = [
        f"{found['difference']} from {TITLES[engine]}" if found["difference"] != "same" else f"as {TITLES[engine]}"
        for engine, found in claim.beside.items()
        if found["difference"]
    ]
    sides.append({**_NOTHING, **own, "title": TITLES[engines[-1]], "differences": differences})
    return {
        **claim.as_json(),
        **own,
        "kind": _KINDS[claim.kind],
        "sides": sides,
        "report": report,
        "intervals": _intervals(claim),
    }


_NOTHING: dict[str, Any] = {
    "word": words.STATUS[Status.SKIPPED],
    "status": Status.SKIPPED,
    "measured": "",
    "n_told": "",
    "differences": [],
    "reason": "",
}


def _badge(claim: Judged, verdict: str) -> tuple[str, str]:
    """A verdict's words and its kind of badge."""
    status = Status(verdict)
    word = words.STATUS[status]
    if claim.kind == "measurement" and status in (Status.PASS, Status.FAIL, Status.INCONCLUSIVE):
        return "measured only", Status.SKIPPED
    if status == Status.FAIL and not claim.reproduces and claim.outcome != "fail":
        return "xfail: does not reproduce, as known", "known"
    if is_as_known(claim, status) is False or (status == claim.verdict and claim.as_known is False):
        word += ", otherwise than known"
    return word, status


def _intervals(claim: Judged) -> list[str]:
    """Where several figures decide, each with its interval; one alone is in ``measured``."""
    if len(claim.figures) < 2:
        return []
    found = []
    for name, value in claim.figures.items():
        interval = claim.intervals.get(name)
        text = f"{name}: {words.figure(value)}"
        found.append(text + (f" [{words.figure(interval[0])}, {words.figure(interval[1])}]" if interval else ""))
    return found


def _machine(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    kernel = provenance.get("kernel", {})
    facts = {
        "Commit": provenance.get("commit", "")
        + (", with changes that are not committed" if provenance.get("uncommitted_changes") else ""),
        "Kernel": kernel.get("release", ""),
        "Machine": provenance.get("machine", ""),
        "Python": provenance.get("python", ""),
        "Written": provenance.get("written", ""),
    }
    return [(name, str(value)) for name, value in facts.items() if value]
