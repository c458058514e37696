"""Whether the links of a run on real packets were measured: these links, both ways, as the plan asks for them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Literal

from testbed.message import Message
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from topologies.impairments import keys_that
from topologies.units import whole_bps

LOSING = keys_that("drops", "spoils")
"""Properties by which a link loses packets that the probe sends."""
MOST_LOST = 1
"""Of a link that is to lose none the machine may lose so many."""
REAL_MIDDLES = ("netem", "relay")
ASKED: dict[str, Literal["rate_bps", "delay_ms", "loss"]] = {
    "rate_bps_asked": "rate_bps",
    "delay_ms_asked": "delay_ms",
    "loss_asked": "loss",
}
"""What the table of readings says was asked, and the plan's own word for it."""


def violations(plan: Plan, table: Path) -> list[Message]:
    """Which link was not, a line each, by ``links.csv``; none in virtual time without packets."""
    if not engine_of(plan).kernel or plan.get("middle") not in REAL_MIDDLES:
        return []
    if not table.is_file():
        return [Message("link.none-measured", "no link was measured before the run")]
    with table.open(newline="", encoding="utf-8") as file:
        rows = {(row["link"], row["direction"]): row for row in csv.DictReader(file)}
    found = []
    for link in plan["links"]:
        for direction in ("ab", "ba"):
            row = rows.get((link["name"], direction))
            if row is None:
                found.append(
                    Message(
                        "link.not-measured",
                        "link {link} {direction} was not measured before the run",
                        link=link["name"],
                        direction=direction,
                    )
                )
                continue
            lost = int(row["sent"]) - int(row["received"])
            if lost > MOST_LOST and not any(link.get(key) for key in LOSING):
                found.append(
                    Message(
                        "link.lost-before",
                        "link {link} {direction} lost {lost} of {sent} packets before the run, and is to lose none",
                        link=link["name"],
                        direction=direction,
                        lost=lost,
                        sent=row["sent"],
                    )
                )
            for column, key in ASKED.items():
                asked = float(whole_bps(link[key]) if key == "rate_bps" else link[key])
                if abs(float(row[column]) - asked) > 1e-6 * max(1.0, asked):
                    found.append(
                        Message(
                            "link.measured-for-another-plan",
                            "link {link} {direction} was measured as if {key} {measured_for} had been asked for; the "
                            "plan "
                            "asks {asked:g}",
                            link=link["name"],
                            direction=direction,
                            key=key,
                            measured_for=row[column],
                            asked=asked,
                        )
                    )
    return found
