"""Writes ``interop.json``, ``interop.md`` and ``interop.html`` into a run's folder."""

from __future__ import annotations

from pathlib import Path

from testbed.documents import write_json
from testbed.lab.table import markdown_table
from testbed.results.report.folder import pretty
from testbed.results.report.page_templates import page_templates
from testbed.study.interop.verdict import NOT_RUN, Outcome

_TEMPLATES = Path(__file__).parent / "templates"

LEGEND = (
    "✓: both ends and the packets at both ends say that the payload arrived whole and that the protocol was kept; "
    "the figure is MiB/s of payload. ✕: one of them does not. ?: the packets can't be told. –: not run."
)


def write_report(outcome: Outcome, folder: Path) -> None:
    """The three files; the same outcome gives the same bytes."""
    document = outcome.as_json()
    write_json(folder / "interop.json", document)
    (folder / "interop.md").write_text(as_markdown(outcome))
    environment = page_templates(_TEMPLATES)
    environment.filters.update(pretty=pretty)
    columns, rows = outcome.table()
    links = [["", *(cell.folder for cell in cells)] for cells in outcome.rows().values()]
    page = environment.get_template("interop.html.j2").render(
        outcome=outcome,
        columns=columns,
        rows=[list(zip(*both, strict=True)) for both in zip(rows, links, strict=True)],
        not_run=NOT_RUN,
        cells=document["cells"],
        titles=[result.cell.title for result in outcome.results],
        legend=LEGEND,
    )
    (folder / "interop.html").write_text(page, encoding="utf-8")


def as_markdown(outcome: Outcome) -> str:
    """Table, legend and what went wrong."""
    columns, rows = outcome.table()
    failed = [result for result in outcome.results if result.judgement.reasons]
    parts = [f"**{outcome.verdict.upper()}** interop {outcome.run}: {outcome.summary}.", markdown_table(columns, rows)]
    parts.append(LEGEND)
    parts += [f"- {result.cell.title}: {'; '.join(result.judgement.reasons)}" for result in failed]
    parts += [f"- not to be trusted: {reason}" for reason in outcome.trust.reasons]
    parts += [f"- broke down: {outcome.broken}"] if outcome.broken else []
    return "\n\n".join(parts) + "\n"
