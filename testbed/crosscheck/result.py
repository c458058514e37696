"""A cross-check's own folder: ``cross-check.json``, plots and a page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from testbed.crosscheck.compare import Difference
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

    @property
    def verdict(self) -> str:
        """``pass``, ``fail`` or ``untrusted``."""
        if self.broken or not self.differences:
            return "fail"
        if self.untrusted:
            return "untrusted"
        return "pass" if all(d.same for d in self.differences) else "fail"

    def as_json(self) -> dict[str, Any]:
        """For ``cross-check.json``."""
        return {
            "scenario": self.scenario,
            "verdict": self.verdict,
            "untrusted": self.untrusted,
            "broken": self.broken,
            "runs": {engine: folder.name for engine, folder in self.runs.items()},
            "differences": [difference.as_json() for difference in self.differences],
        }


def verdict_of(compared: list[Compared]) -> str:
    """``pass`` if all pass, ``fail`` if one fails, else ``untrusted``."""
    verdicts = {entry.verdict for entry in compared}
    return next((word for word in ("fail", "untrusted") if word in verdicts), "pass")


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
        verdict=verdict_of(compared),
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
