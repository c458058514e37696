"""A comparison's own folder, whatever was compared: the document, drawings, the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from testbed.report import style
from testbed.report.page_templates import page_templates
from testbed.report.plot import Plot
from testbed.study.folder import write_json

_TEMPLATES = Path(__file__).parent / "templates"


def write(folder: Path, kind: str, document: Mapping[str, Any], drawings: Mapping[str, Plot], **shown: Any) -> Path:
    """``<kind>.json``, the drawings by their paths in the folder, and ``report.html`` of the kind's template,
    which is given what is ``shown``. Returns the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{kind}.json", document)
    for place, plot in drawings.items():
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text(plot.svg, encoding="utf-8")
    page = folder / "report.html"
    template = page_templates(_TEMPLATES).get_template(f"{kind}.html.j2")
    page.write_text(template.render(**shown, drawn=_drawn), encoding="utf-8")
    return page


def _drawn(plot: Plot, name: str) -> Markup:
    """The plot for the page, where no other has that name."""
    return Markup(style.for_page(plot.svg, name, plot.description))
