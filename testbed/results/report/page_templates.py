"""Jinja as every page of this project uses it, and how a folder gets its page and plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from testbed import confine
from testbed.results.report import style, words
from testbed.results.report.plot import Plot

_SHARED = Path(__file__).parent / "templates"


def page_templates(*folders: Path) -> Environment:
    """The templates in these folders, the first with a name before the others, and those that pages share: text is
    escaped, a missing value is an error."""
    return Environment(
        loader=FileSystemLoader([*folders, _SHARED]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def on_page(plot: Plot) -> dict[str, Any]:
    """A plot to stand inside a page: its name, what it shows, that as a caption with the points beside it, and the
    SVG."""
    points = Markup(' <a href="plots/{}.csv">Points</a>').format(plot.name) if plot.data else ""
    return {
        "name": plot.name,
        "wide": plot.wide,
        "caption": escape(plot.description) + points,
        "svg": Markup(style.for_page(plot.svg, plot.name, plot.description)),
    }


def write_html(
    folder: Path,
    environment: Environment,
    template: str,
    plots: Sequence[Plot],
    pictures: Sequence[Plot] = (),
    **values: Any,
) -> Path:
    """``plots/*`` and ``report.html``, whose path is returned; the same values give the same bytes.

    The template gets ``values``, the ``plots`` (as :func:`on_page` has them), the filter ``figure`` and the ``words``
    of a check's status. ``pictures`` are files beside the plots, which ``values`` have where the page wants them.
    """
    (folder / "plots").mkdir(exist_ok=True)
    for plot in (*plots, *pictures):
        place = confine.inside(folder / "plots", f"{plot.name}.svg")
        place.write_text(plot.svg, encoding="utf-8")
        if plot.data:
            place.with_suffix(".csv").write_text(plot.data, encoding="utf-8")
        if plot.pdf is not None:
            place.with_suffix(".pdf").write_bytes(plot.pdf)
    environment.filters.setdefault("figure", words.figure)
    text = environment.get_template(template).render(
        **values, plots=[on_page(plot) for plot in plots], words={**words.STATUS, **words.OUTCOME}
    )
    page = folder / "report.html"
    page.write_text(text, encoding="utf-8")
    return page
