"""The page of a study: ``report.html`` and ``plots/``. The same documents give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from testbed import confine
from testbed.documents import read_json, write_json
from testbed.judge import intervals
from testbed.judge.checks.result import Verdict
from testbed.judge.figures import with_unit
from testbed.judge.history import provenance_of
from testbed.judge.ncp_figures import FIGURES
from testbed.judge.status import Status, verdict_of
from testbed.judge.verify import read_verdict
from testbed.plan.engines import ENGINES
from testbed.results.report import words
from testbed.results.report.page_templates import on_page, page_templates, write_html
from testbed.results.report.plot import Plot
from testbed.study.cell import folder_of
from testbed.study.checks.agrees import Agreement, CrossCheck
from testbed.study.checks.better import NOT_SHOWN, Comparison, figure_of
from testbed.study.checks.claims import Judged, judged_in, read_claims
from testbed.study.checks.law import Row, fit_of
from testbed.study.hosts import effects, fitness
from testbed.study.kinds.sweep_file import LoadedSweep
from testbed.study.kinds.table_result import RowSummary, Spread, read_table, summaries_of
from testbed.study.record import CellResult, by_setting, observations
from testbed.study.report import plots, text

_TEMPLATES = Path(__file__).parent / "templates"


def _write(folder: Path, kind: str, drawn: Sequence[Plot], **values: Any) -> Path:
    environment = page_templates(_TEMPLATES)
    environment.filters.update(value=_number, with_unit=with_unit, spread=_spread_in_words)
    return write_html(folder, environment, "study.html.j2", drawn, kind=kind, **values)


def write_table(folder: Path, unfinished: tuple[Mapping[str, Any], Verdict] | None = None) -> Path:
    """Write the page from ``table.json`` and ``verdict.json``, or from those of a table that is not finished, and with
    the runs' own plots the gallery; returns the page's path. BadInput where a file is missing or broken."""
    document, verdict = unfinished or (read_table(folder), read_verdict(folder))
    rows, lines = summaries_of(document), plots.fitted(verdict)
    pictures = _pictures(folder, document)
    title, outcomes = f"{document['name']} {document['run']}", document["outcomes"]
    word, colour, lead = str(verdict.verdict), str(verdict.verdict), f"{verdict.summary} {_how_sure(rows, verdict)}"
    if unfinished:
        made = sum(outcome["verdict"] != Status.MISSING for outcome in outcomes)
        word, colour = "unfinished", "neutral"
        lead = f"{made} of {len(outcomes)} cells were run. There is no verdict before all are."
    banner = {"word": word, "colour": colour, "title": title, "heading": document["title"]}
    if pictures:
        gallery = "gallery.html.j2"
        write_html(folder, page_templates(_TEMPLATES), gallery, [], page="gallery.html", rows=pictures, **banner)
    return _write(
        folder,
        "table",
        [*plots.of_table(document), *lines],
        **banner,
        lead=[lead],
        gallery=bool(pictures),
        table=document,
        verdict=verdict,
        judges={check.name: check.judge for check in verdict.checks},
        rows=rows,
        bounds={figure for row in rows for figure in row.bounds},
        ratios=[f"{a} / {b}" for a, b in document["ratios"]],
        ratio=ratio,
        gains=[plot["name"] for plot in document.get("plots", [])],
        lines=[plot.name for plot in lines],
        hosts=effects.describe(document["outcomes"], document["figures"]),
        measured=fitness.measurements(folder).hosts,
        findings=[filled_in(finding, rows) for finding in document["findings"]],
    )


def _pictures(folder: Path, document: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The cells of each row whose runs have plots of their own, with these."""
    found: dict[str, list[dict[str, Any]]] = {}
    for outcome in document["outcomes"]:
        home = folder_of(outcome["row"], outcome["column"], str(outcome["repetition"])) / outcome["run"]
        drawn = sorted(confine.inside(folder, home).glob("plots/*.svg")) if outcome["run"] else []
        if names := [path.stem for path in drawn if path.stem != "topology"]:
            found.setdefault(outcome["row"], []).append({**outcome, "home": home.as_posix(), "plots": names})
    return found


def _how_sure(summaries: Sequence[RowSummary], verdict: Verdict) -> str:
    """The scope of a table's verdict, in a sentence; "" where the verdict itself says that it proves nothing."""
    if not verdict.trust.trusted:
        return ""
    spreads = [spread for s in summaries for by_column in s.cells.values() for spread in by_column.values() if spread.n]
    said = []
    if levels := [spread.interval.level for spread in spreads if spread.interval]:
        said.append(f"Medians have intervals of {intervals.levels_in_words(levels)}.")
    if alike := [spread.n for spread in spreads if spread.is_one]:
        said.append(f"{max(alike)} runs of a cell in virtual time came out alike: chance has no part in them.")
    if any(spread.interval is None and not spread.is_one for spread in spreads):
        which = "Some cells" if said else "Cells"
        said.append(f"{which} have fewer than {intervals.LEAST_N} runs, which say nothing of the spread.")
    return " ".join(said)


def _spread_in_words(spread: Spread) -> str:
    """The interval, else the range of two, and how many runs there are and what that is worth."""
    if spread.is_one:
        return f"{spread.n} runs, one observation"
    if (interval := spread.interval) is not None:
        ends = f"[{_number(interval.low)}, {_number(interval.high)}]"
        return f"{ends}, N = {spread.n}, {intervals.levels_in_words([interval.level])}"
    ends = f"{_number(spread.low)}–{_number(spread.high)}, " if len(spread.values) > 1 else ""
    return f"{ends}N = {spread.n}"


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.3f}"


def ratio(summary: RowSummary, over: str, under: str, figure: str | None = None) -> str:
    """The ratio of two columns' medians; – where one is missing."""
    one, other = summary.median(over, figure), summary.median(under, figure)
    return "–" if one is None or not other else f"{one / other:.2f}"


def filled_in(finding: str, summaries: Sequence[RowSummary]) -> str:
    """A finding with its figures: ``{1.nkp24}`` is a median of the first, ``{1.nkp24/previous}`` a ratio,
    ``{1.nkp24:rtt_ms}`` a median of another."""
    rows = {summary.name: summary for summary in summaries}

    def value(match: re.Match[str]) -> str:
        row, column, under, figure = match["row"], match["column"], match["under"], match["figure"]
        if row not in rows or (figure and figure not in rows[row].cells):
            return "(not run)"
        return ratio(rows[row], column, under, figure) if under else _number(rows[row].median(column, figure))

    name = r"[a-z0-9-]+"
    place = rf"(?P<row>{name})\.(?P<column>{name})(?:/(?P<under>{name}))?(?::(?P<figure>[a-z0-9_.-]+))?"
    return re.sub(rf"\{{{place}\}}", value, finding)


def write_sweep(
    folder: Path, loaded: LoadedSweep, outcomes: Sequence[CellResult], rows: Sequence[Row], verdict: Verdict
) -> Path:
    """Write the page from the table ``rows``, a run each; returns its path."""

    sweep = loaded.sweep
    fit = fit_of(rows, sweep.law) if sweep.law else None
    drawn = [plots.law(fit, sweep.law.policy)] if fit and sweep.law else []
    settings = sweep.combinations()
    return _write(
        folder,
        "sweep",
        [*drawn, *(plots.panels_of_sweep(rows, plot, number) for number, plot in enumerate(sweep.plots, start=1))],
        title=f"{sweep.name} {verdict.run}",
        word=verdict.verdict,
        heading=sweep.title,
        lead=[verdict.summary],
        sweep=sweep,
        quick=loaded.quick,
        overrides=loaded.overrides,
        verdict=verdict,
        keys=[*sweep.parameters, "policy"],
        figures=[f"{title}, {unit}" for title, unit in FIGURES.values()],
        medians=[
            {
                "settings": [*settings[row].values.values(), policy],
                "n": number_of(runs),
                "figures": [plots.spread_of([run.record.figures.get(name) for run in runs]).median for name in FIGURES],
            }
            for (row, policy), runs in by_setting(outcomes).items()
        ],
        runs=len(outcomes),
    )


def number_of(runs: Sequence[CellResult]) -> str:
    """The number of a cell's runs, and whether they are one observation."""
    return f"{len(runs)}: one" if len(observations(runs)) < len(runs) else str(len(runs))


_KINDS = {
    "claim": "claim",
    "changed": "changed set-up",
    "correction": "correction",
    "beyond": "beyond the source",
    "measurement": "measured only",
}


def write_claims(folder: Path) -> Path:
    """Write the page from ``claims.json`` and the runs' small files alone; returns its path. BadInput where a file is
    missing or broken."""
    document = read_claims(folder)
    claims = judged_in(document)
    drawn = plots.published(claims)
    for name, run in document["runs"].items():
        if run["folder"]:
            drawn += plots.of_run(name, confine.inside(folder, run["folder"]))
    besides = [other["engine"] for other in document.get("beside", [])]
    engines = {name: ENGINES[name].title for name in (*besides, document["engine"])}
    titles, setups = list(engines.values()), document.get("setups", {})
    shown = [_claim(claim, folder, engines) | {"setup": setups.get(claim.id)} for claim in claims]
    of_sources = [(s, [c for c in shown if c["source"] == name]) for name, s in document["sources"].items()]
    return _write(
        folder,
        "claims",
        drawn,
        title=f"claims {document['run']}",
        word=document["verdict"],
        heading="What the sources claim, and what was measured",
        lead=[
            document["summary"],
            *([f"A selection: only {', '.join(only)}."] if (only := document.get("only")) else []),
        ],
        all=document,
        engine_of=ENGINES,
        engines=titles,
        measured_heads=[f"Measured: {title}" for title in titles] if besides else ["Measured"],
        machine=_machine(provenance_of(folder)),
        sources=[(source, of_source) for source, of_source in of_sources if of_source],
        badges=list(dict.fromkeys((claim["word"], claim["status"]) for claim in shown)),
    )


def _claim(claim: Judged, folder: Path, engines: Mapping[str, str]) -> dict[str, Any]:
    """A claim as the page has it, on each of the engines, the last of which is the page's own.

    What is not in the folder is named, not linked."""
    sides: list[dict[str, Any]] = []
    for engine, title in list(engines.items())[:-1]:
        found = {"n": "", "measured": "", "reason": "", "verdict": Status.SKIPPED} | claim.beside.get(engine, {})
        word, status = _badge(claim, found["verdict"])
        reason = found["reason"] if found["verdict"] != claim.verdict else ""
        badge = {"word": word, "status": status if engine in claim.beside else "", "reason": reason}
        sides.append({"n_told": found["n"], **found, "title": title, **badge})
    off = {engines[engine]: found["difference"] for engine, found in claim.beside.items() if found["difference"]}
    differences = [f"as {title}" if by == "same" else f"{by} from {title}" for title, by in off.items()]
    word, status = _badge(claim, claim.verdict)
    word = "can't be decided here" if claim.is_undecidable else word
    own = {**claim.as_json(), "word": word, "status": status, "n_told": claim.n_told}
    there = claim.report and ":" not in claim.report and confine.inside(folder, claim.report).is_file()
    return {
        **own,
        "kind": _KINDS[claim.kind],
        "sides": [*sides, {**own, "title": list(engines.values())[-1], "differences": differences, "reason": ""}],
        "report": claim.report if there else "",
        "intervals": _intervals(claim) if len(claim.figures) > 1 else [],
    }


def _badge(claim: Judged, verdict: str) -> tuple[str, str]:
    """A verdict's words and its kind of badge."""
    status = Status(verdict)
    word = words.STATUS[status]
    if claim.kind == "measurement" and status in (Status.PASS, Status.FAIL, Status.INCONCLUSIVE):
        return "measured only", Status.SKIPPED
    if status == Status.FAIL and not claim.reproduces and claim.outcome != "fail":
        return "xfail: does not reproduce, as known", "known"
    if claim.is_known_to(status) is False or (status == claim.verdict and claim.as_known is False):
        word += ", otherwise than known"
    return word, status


def _intervals(claim: Judged) -> list[str]:
    """Intervals where several figures decide; a single one is in ``measured``."""
    of = {name: ", ".join(map(words.figure, claim.intervals.get(name, ())[:2])) for name in claim.figures}
    return [
        f"{name}: {words.figure(claim.figures[name])}" + (f" [{ends}]" if ends else "") for name, ends in of.items()
    ]


def _machine(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    changed = ", with changes that are not committed" if facts.get("uncommitted_changes") else ""
    commit, kernel = facts.get("commit", "") + changed, facts.get("kernel", {}).get("release", "")
    rest = ((name, facts.get(name.lower())) for name in ("Machine", "Python", "Written"))
    return [(name, str(value)) for name, value in (("Commit", commit), ("Kernel", kernel), *rest) if value]


def write_comparison(folder: Path, comparison: Comparison, home: Path | None = None) -> Path:
    """Write the page with ``compare.json``; returns its path. ``home`` is the folder that the runs' folders are
    relative to, if it is another one."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "compare.json", TypeAdapter(type(comparison)).dump_python(comparison, mode="json"))
    groups = comparison.groups
    # Over one time axis only where the setting is one and the same.
    is_one = len({case for group in groups for case in group.cases}) == 1
    over_time = plots.over_time(groups, home or folder) if is_one or all(len(g.cases) == 1 for g in groups) else []
    said = {*text.words_of(comparison.statuses, comparison.directions).values(), NOT_SHOWN}
    word, colour = next((word, colour) for word, colour in _COLOURS.items() if word in said)
    heading = f"{', '.join(group.name for group in groups[1:])} against {groups[0].name}"
    return _write(
        folder,
        "comparison",
        [*plots.differences(comparison.differences, comparison.confidence), *over_time],
        title=heading,
        word=word,
        colour=colour,
        heading=heading,
        lead=[f"{line}." for line in text.comparison_lines(comparison)],
        comparison=comparison,
        groups=groups,
        figure_of=figure_of,
        mean=text.mean,
        with_interval=text.with_interval,
        sees=text.sees,
    )


def write_shake(folder: Path) -> Path:
    """Write the page from ``shake.json``; returns its path."""
    document = read_json(folder / "shake.json")
    claims = document["claims"]
    return _write(
        folder,
        "shake",
        list(map(plots.shaken, claims)),
        title=f"shake {document['run']}",
        word=document["verdict"],
        heading="Claims in the neighbourhood of their set-ups",
        lead=[f"{claim['id']}: {claim['said']}." for claim in claims[:MOST_NAMED]],
        shaken=document,
        engine_of=ENGINES,
        indices=("rank", "first_order", "fails"),
    )


MOST_NAMED = 3
"""Most shaken claims that the head of their page names."""

_COLOURS = {
    "failed": Status.FAIL,
    "worse": Status.FAIL,
    "mixed": Status.FAIL,
    "untrusted": Status.UNTRUSTED,
    "better": Status.PASS,
    "differs": "neutral",
    "no difference shown": "neutral",
}
"""The word of a comparison: the first of these that a group has."""


def write_cross_check(folder: Path, found: Sequence[Agreement], refused: Mapping[str, str]) -> Path:
    """Write the page with ``cross-check.json``; ``refused`` has the reasons why an engine can't carry scenarios.
    Returns the path."""
    folder.mkdir(parents=True, exist_ok=True)
    document = CrossCheck(1, found, refused)
    write_json(folder / "cross-check.json", TypeAdapter(CrossCheck).dump_python(document, mode="json"))
    engines = " and ".join(dict.fromkeys(engine for entry in found for engine in entry.runs))
    return _write(
        folder,
        "cross-check",
        [plot for entry in found for plot in entry.plots],
        title=f"cross-check {folder.name}",
        word=verdict_of(entry.verdict for entry in found),
        heading="One scenario, several engines",
        lead=[f"Each ran on {engines}, with the same links, transfers and checks."],
        run=folder.name,
        compared=found,
        refused=refused,
        on_page=on_page,
    )
