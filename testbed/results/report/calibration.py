"""The links as measured before the run: configured and achieved, with the limits that apply."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.errors import BadInput
from testbed.plan.link_words import bits_per_second
from testbed.plan.model import Limits
from testbed.results.report.folder import ResultFolder


@dataclass(frozen=True)
class LinkRow:
    """One direction of a link, as texts; ``…_off`` is set where a value is outside the plan's limits."""

    link: str
    rate_asked: str
    rate: str
    rate_error: str
    rate_off: bool
    delay_asked: str
    delay: str
    delay_p99: str
    delay_off: bool
    loss_asked: str
    loss: str
    probes: str


def calibration_rows(folder: ResultFolder) -> list[LinkRow]:
    """A row per row of ``links.csv``; BadInput if a column lacks or is no number."""
    ends = {link["name"]: (link["a"]["host"], link["b"]["host"]) for link in folder.plan["links"]}
    try:
        return [_row(row, ends, folder.plan["limits"]) for row in folder.links]
    except (KeyError, ValueError) as error:
        raise BadInput(
            "report.bad-links-file",
            "{path}: a column is missing or not a number: {error}",
            path=folder.path / "links.csv",
            error=error,
        ) from error


def _row(row: dict[str, str], ends: dict[str, tuple[str, str]], limits: Limits) -> LinkRow:
    rate, rate_asked = float(row["rate_bps"]), float(row["rate_bps_asked"])
    delay, delay_asked = float(row["delay_ms"]), float(row["delay_ms_asked"])
    rate_error, delay_error = rate / rate_asked - 1, delay - delay_asked
    a, b = ends[row["link"]] if row["direction"] == "ab" else ends[row["link"]][::-1]
    return LinkRow(
        link=f"{row['link']} {a} → {b}",
        rate_asked=bits_per_second(rate_asked),
        rate=bits_per_second(rate),
        rate_error=f"{rate_error:+.2%}",
        rate_off=abs(rate_error) > limits["rate_error"],
        delay_asked=f"{delay_asked:g} ms",
        delay=f"{delay:.2f} ms",
        delay_p99=f"{float(row['delay_p99_ms']):.2f} ms",
        delay_off=abs(delay_error) > limits["delay_error_ms"],
        loss_asked=f"{float(row['loss_asked']):.2%}",
        loss=f"{float(row['loss']):.2%}",
        probes=f"{int(row['received']):,} of {int(row['sent']):,}",
    )
