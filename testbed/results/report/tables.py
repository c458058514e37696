"""Tables of a run's page: shares of the window against the law, the links as measured, hosts on other machines."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from testbed import paths
from testbed.documents import read_csv
from testbed.errors import BadInput
from testbed.judge.checks.planned import session_of
from testbed.judge.checks.result import CheckResult
from testbed.plan.link_words import bits_per_second
from testbed.results.report.folder import ResultFolder

SHARES = paths.CHECKOUT / "data" / "published" / "nkp0024-convergence.csv"


class PublishedShare(NamedTuple):
    """One connection's share of the window at one time, and who measured it over which links."""

    connection: str
    t_s: float
    share: float
    measured_by: str


def published_shares(scenario: str, policy: str) -> list[PublishedShare]:
    """Published and earlier shares of a scenario and a policy; empty where there are none."""
    return [
        PublishedShare(row["connection"], float(row["t_s"]), float(row["share"]), row["measured_by"])
        for row in read_csv(SHARES)
        if row["scenario"] == scenario and row["policy"] == policy and row["t_s"] and row["share"]
    ]


def share_tables(folder: ResultFolder) -> list[dict[str, Any]]:
    """A table for each check that compared shares with the law, at round times: law, measured, and published."""
    return [_share_table(folder, check) for check in folder.verdict.checks if check.figures.get("shares")]


def _share_table(folder: ResultFolder, check: CheckResult) -> dict[str, Any]:
    by_time: dict[float, dict[str, dict[str, Any]]] = defaultdict(dict)
    for share in check.figures["shares"]:
        error = share["measured"] - share["law"]
        off = abs(error) > (check.tolerance or 0.0)
        by_time[share["t_s"]][share["connection"]] = {**share, "error": error, "off": off}
    policy = session_of(folder.plan, check.figures.get("session"))["policy"]
    known = [one for one in published_shares(folder.plan["scenario"], policy) if one.t_s in by_time]
    connections = list(dict.fromkeys(share["connection"] for share in check.figures["shares"]))
    sources = list(dict.fromkeys(one.measured_by for one in known))
    rows = [
        {
            "t_s": t_s,
            "shares": [shares.get(connection) for connection in connections],
            "published": [
                ", ".join(f"{one.share:.3f}" for one in known if (one.t_s, one.measured_by) == (t_s, source))
                for source in sources
            ],
        }
        for t_s, shares in sorted(by_time.items())
    ]
    tolerance = check.tolerance or 0.0
    return {"check": check.name, "tolerance": tolerance, "connections": connections, "rows": rows, "sources": sources}


def link_rows(folder: ResultFolder) -> list[dict[str, Any]]:
    """A row of texts for each of ``links.csv``, a direction of a link; ``…_off`` is set where a value is outside the
    plan's limits. BadInput if a column is missing or no number."""
    ends = {link["name"]: (link["a"]["host"], link["b"]["host"]) for link in folder.plan["links"]}
    try:
        return [_link_row(row, ends[row["link"]], folder.plan["limits"]) for row in folder.links]
    except (KeyError, ValueError) as error:
        raise BadInput(
            "report.bad-links-file", f"{folder.path / 'links.csv'}: a column is missing or not a number: {error}"
        ) from error


def _link_row(row: Mapping[str, str], ends: tuple[str, str], limits: Mapping[str, Any]) -> dict[str, Any]:
    rate, rate_asked = float(row["rate_bps"]), float(row["rate_bps_asked"])
    delay, delay_asked = float(row["delay_ms"]), float(row["delay_ms_asked"])
    return {
        "link": " ".join([row["link"], " → ".join(ends if row["direction"] == "ab" else ends[::-1])]),
        "rate_asked": bits_per_second(rate_asked),
        "rate": bits_per_second(rate),
        "rate_error": f"{rate / rate_asked - 1:+.2%}",
        "rate_off": abs(rate / rate_asked - 1) > limits["rate_error"],
        "delay_asked": f"{delay_asked:g} ms",
        "delay": f"{delay:.2f} ms",
        "delay_p99": f"{float(row['delay_p99_ms']):.2f} ms",
        "delay_off": abs(delay - delay_asked) > limits["delay_error_ms"],
        "loss_asked": f"{float(row['loss_asked']):.2%}",
        "loss": f"{float(row['loss']):.2%}",
        "probes": f"{int(row['received']):,} of {int(row['sent']):,}",
    }


def machine_rows(folder: ResultFolder) -> list[dict[str, str]]:
    """A row of texts for each of provenance's ``machines``: the way from the machine that led the run, ``others`` with
    ends of its links, and what is known of its clock. BadInput if one lacks a figure."""
    try:
        return [
            {
                "machine": str(facts["machine"]),
                "hosts": ", ".join(facts["hosts"]),
                "middles": ", ".join(facts.get("middles", [])),
                "others": ", ".join(f"{way['machine']} {way['one_way_ms']:.2f} ms" for way in facts.get("ways", [])),
                "way": f"{facts['one_way_ms']:.2f} ms",
                "way_bound": f"±{facts['asymmetry_ms']:.2f} ms either way",
                "way_p99": f"{facts['one_way_p99_ms']:.2f} ms",
                "clock": f"{facts['ahead_ns'] / 1e6:+.2f} ms",
                "clock_bound": f"±{facts['clock_uncertainty_ms']:.2f} ms" if "clock_uncertainty_ms" in facts else "",
                "mtu": f"{facts['link_mtu_bytes']} B",
            }
            for facts in folder.provenance.get("machines", [])
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput("report.bad-machines", f"{folder.path / 'provenance.json'}: machines: {error}") from error
