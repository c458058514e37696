"""A comparison's own folder, whatever was compared: the document, plots, the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.documents import write_json
from testbed.results.report.page_templates import page_templates, write_html
from testbed.results.report.plot import Plot

_TEMPLATES = page_templates(Path(__file__).parent / "templates")


def write(folder: Path, kind: str, document: Mapping[str, Any], plots: Sequence[Plot], **shown: Any) -> Path:
    """``<kind>.json``, ``plots/``, and ``report.html`` of the kind's template, whose path is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{kind}.json", document)
    return write_html(folder, _TEMPLATES, f"{kind}.html.j2", plots, **shown)
