"""A cross-check's ``cross-check.json`` and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from testbed.documents import write_json
from testbed.judge.status import Status, verdict_of
from testbed.results.report.page_templates import on_page, page_templates, write_html
from testbed.study.checks.agrees import Agreement, AgreementEntry

_TEMPLATES = page_templates(Path(__file__).parent / "templates")


class Document(TypedDict):
    """``cross-check.json``."""

    schema: Literal[1]
    scenarios: list[AgreementEntry]
    refused: dict[str, str]
    """Why an engine can't carry a scenario."""


def verdict_over(found: Sequence[Agreement]) -> Status:
    """Of all scenarios and tables."""
    return verdict_of([entry.verdict for entry in found])


def write(folder: Path, found: Sequence[Agreement], refused: Mapping[str, str]) -> Path:
    """Write it all; ``refused`` says of scenarios why an engine can't carry them. Returns the page."""
    document: Document = {"schema": 1, "scenarios": [entry.as_json() for entry in found], "refused": dict(refused)}
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "cross-check.json", document)
    return write_html(
        folder,
        _TEMPLATES,
        "cross-check.html.j2",
        [plot for entry in found for plot in entry.plots],
        verdict=verdict_over(found),
        run=folder.name,
        engines=" and ".join(dict.fromkeys(engine for entry in found for engine in entry.runs)),
        compared=found,
        refused=refused,
        on_page=on_page,
    )
