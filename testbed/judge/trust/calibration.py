"""Whether the links of a run on real packets were measured: these links, both ways, as the plan asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from testbed.documents import read_csv
from testbed.judge.checks.planned import as_configured
from testbed.message import Message
from testbed.plan.engines import engine_of
from testbed.plan.model import DIRECTIONS, Plan
from topologies.impairments import keys_that
from topologies.link import Link

LOSING = keys_that("drops", "spoils")
"""Properties by which a link loses packets that the probe sends."""
MOST_LOST = 1
"""Packets that the machine may lose on a link without loss."""
REAL_MIDDLES = ("netem", "relay")
CONFIGURED: dict[str, Literal["rate_bps", "delay_ms", "loss"]] = {
    "rate_bps_asked": "rate_bps",
    "delay_ms_asked": "delay_ms",
    "loss_asked": "loss",
}
"""Columns of the table of readings, and the plan's own keys for them."""


def violations(plan: Plan, table: Path) -> list[Message]:
    """Lists the links that ``links.csv`` shows to be off; none in virtual time, where there are no packets."""
    if not engine_of(plan).kernel or plan.get("middle") not in REAL_MIDDLES:
        return []
    if not table.is_file():
        return [Message("link.none-measured", "no link was measured before the run")]
    rows = {(row["link"], row["direction"]): row for row in read_csv(table)}
    return [
        reason.at(f"link {link['name']} {direction}")
        for link in plan["links"]
        for direction in DIRECTIONS
        for reason in _of_direction(link, rows.get((link["name"], direction)))
    ]


def _of_direction(link: Link, row: Mapping[str, str] | None) -> Iterator[Message]:
    if row is None:
        yield Message("link.not-measured", "was not measured before the run")
        return
    lost = int(row["sent"]) - int(row["received"])
    if lost > MOST_LOST and not any(link.get(key) for key in LOSING):
        yield Message("link.lost-before", f"lost {lost} of {row['sent']} packets before the run, and is to lose none")
    for column, key in CONFIGURED.items():
        planned = as_configured(key, link[key])
        if abs(float(row[column]) - planned) > 1e-6 * max(1.0, planned):
            yield Message(
                "link.measured-for-another-plan",
                f"was measured as if {key} {row[column]} had been planned; the plan has {planned:g}",
            )
