"""The series that checks, plots and dashboards take, from the catalogue; and the units of figures."""

from __future__ import annotations

from itertools import groupby

from testbed.judge import figures
from testbed.series.catalogue import CATALOGUE
from testbed.series.series import Series
from tools.reference.markdown import generated, table

INTRODUCTION = """\
A series is one field of one measurement, with a line for each value of a tag. A check names it (`series:
window_packets`), a dashboard's panel draws it. Measurements with all their tags and fields:
[telemetry](contracts.md#telemetry)."""
FIGURES = """\
## Figures

What a run, a table or a sweep has as numbers carries its unit at the end of its name: `goodput_mib_s` is in MiB/s. A
figure of a session other than the first has that session's name and a dot before it."""


def page() -> str:
    """The page's text."""
    parts = []
    for measurement, found in groupby(sorted(CATALOGUE.values(), key=lambda s: s.measurement), lambda s: s.measurement):
        parts.append(f"## {measurement}\n\n" + table(("series", "what", "unit", "field", "of each"), map(_row, found)))
    units = table(("end of the name", "unit"), ((f"`{end}`", unit) for end, unit in figures.UNITS.items()))
    return generated("Series and figures", INTRODUCTION, *parts, FIGURES, units)


def _row(series: Series) -> tuple[str, str, str, str, str]:
    tags = ", ".join(f"{tag} `{value}`" if value else f"without {tag}" for tag, value in series.tags)
    where = f"`{series.field}`" + (f" ({tags})" if tags else "")
    return f"`{series.name}`", series.title, series.unit, where, series.group_by
