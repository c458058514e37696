"""A cross-check's own folder: ``cross-check.json``, plots and a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from testbed.crosscheck.compare import Difference
from testbed.judge.algebra import Part, Standing, Word, verdict_of
from testbed.report import style
from testbed.report.page_templates import page_templates
from testbed.report.plot import Plot

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Compared:
    """One scenario or table on several engines. ``runs`` are the result folders by engine, ``untrusted`` the reasons
    why the emulated one can't be trusted, ``broken`` why there is nothing to compare."""

    scenario: str
    title: str
    runs: dict[str, Path]
    differences: list[Difference]
    plots: list[Plot]
    untrusted: list[str]
    broken: str = ""
    runs_own: Mapping[str, Standing] = field(default_factory=dict)
    """By engine what its runs are worth: two that fail in the same fact are alike, and prove nothing."""

    @property
    def parts(self) -> dict[str, Part]:
        """What it all is made of, by name."""
        found: dict[str, Part] = {d.text: "pass" if d.same else "fail" for d in self.differences}
        found |= {f"{engine}: its own runs": standing for engine, standing in self.runs_own.items()}
        if self.broken or not self.differences:
            found["a comparison"] = "error" if self.broken else "missing"
        if self.untrusted:
            found["trust"] = "untrusted"
        return found

    @property
    def verdict(self) -> Word:
        """``pass``, ``fail`` or ``untrusted``."""
        return verdict_of(self.parts.values())

    def as_json(self) -> dict[str, Any]:
        """For ``cross-check.json``."""
        return {
            "scenario": self.scenario,
            "verdict": self.verdict,
            "untrusted": self.untrusted,
            "broken": self.broken,
            "runs": {engine: folder.name for engine, folder in self.runs.items()},
            "runs_own": dict(self.runs_own),
            "differences": [difference.as_json() for difference in self.differences],
        }


def verdict_over(compared: Sequence[Compared]) -> Word:
    """Of all scenarios and tables."""
    return verdict_of([entry.verdict for entry in compared])


def write(folder: Path, compared: list[Compared], refused: dict[str, str]) -> Path:
    """Write it all; ``refused`` says of scenarios why the simulator can't carry them. Returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {"schema": 1, "scenarios": [c.as_json() for c in compared], "refused": refused}
    (folder / "cross-check.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    for entry in compared:
        for plot in entry.plots:
            (folder / f"{entry.scenario}-{plot.name}.svg").write_text(plot.svg, encoding="utf-8")
    environment = page_templates(_TEMPLATES)
    page = folder / "report.html"
    text = environment.get_template("cross_check.html.j2").render(
        verdict=verdict_over(compared),
        run=folder.name,
        engines=" and ".join(dict.fromkeys(engine for entry in compared for engine in entry.runs)),
        compared=compared,
        refused=refused,
        figure=_figure,
    )
    page.write_text(text, encoding="utf-8")
    return page


def _figure(scenario: str, plot: Plot) -> Markup:
    return Markup(style.for_page(plot.svg, f"{scenario}-{plot.name}", plot.description))
