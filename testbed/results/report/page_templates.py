"""Jinja as every page of this project uses it, and how a folder gets its page and plots."""

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
    escaped, a missing value is an error. All have the words of a check's status, and numbers as people read them."""
    loader = FileSystemLoader([*folders, _SHARED])
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    pages.filters.update(figure=words.figure, tolerance=words.tolerance, pretty=words.pretty)
    pages.globals.update(words={**words.STATUS, **words.OUTCOME})  # type: ignore[misc]
    return pages


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
    page: str = "report.html",
    **values: Any,
) -> Path:
    """``plots/*`` and the page, whose path is returned; the same values give the same bytes.

    The template gets ``values`` and the ``plots`` (as :func:`on_page` has them). ``pictures`` are files beside the
    plots, which ``values`` have where the page wants them.
    """
    for plot in (*plots, *pictures):
        place = confine.inside(folder / "plots", f"{plot.name}.svg")
        place.parent.mkdir(exist_ok=True)
        place.write_text(plot.svg, encoding="utf-8")
        if plot.data:
            place.with_suffix(".csv").write_text(plot.data, encoding="utf-8")
        if plot.pdf is not None:
            place.with_suffix(".pdf").write_bytes(plot.pdf)
    place = folder / page
    text = environment.get_template(template).render(**values, plots=[on_page(plot) for plot in plots])
    place.write_text(text, encoding="utf-8")
    return place
