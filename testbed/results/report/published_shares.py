"""Published and earlier shares of the window, to stand beside what a run measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from testbed import paths
from testbed.documents import read_csv

SHARES = paths.CHECKOUT / "data" / "published" / "nkp0024-convergence.csv"


@dataclass(frozen=True)
class PublishedShare:
    """One connection's share at one time, and who measured it over which links."""

    connection: str
    t_s: float
    share: float
    measured_by: str


def published_shares(scenario: str, policy: str, path: Path = SHARES) -> list[PublishedShare]:
    """The shares known for a scenario and a policy; empty where there are none."""
    return [
        PublishedShare(row["connection"], float(row["t_s"]), float(row["share"]), row["measured_by"])
        for row in read_csv(path)
        if row["scenario"] == scenario and row["policy"] == policy and row["t_s"] and row["share"]
    ]
