"""Overlays of growing size in virtual time: what sessions get, and what a session costs to simulate."""

from pathlib import Path
from typing import Any

from testbed.engines.sim.engine import ENGINE
from testbed.judge.checks.together import jain
from testbed.lab.benchmark import Benchmark, Measurement
from testbed.lab.simulator import call
from testbed.lab.table import Section, quantile

SESSIONS, QUICK_SESSIONS = (10, 100, 1000), (10, 100)
MOST_CPU_S = 300
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)

Report = dict[str, Any]
"""``overlay.json`` of ``ncp-sim overlay``."""


def measure(requested: Measurement) -> None:
    """One overlay of each size."""
    reports: dict[int, Report] = {}
    for sessions in QUICK_SESSIONS if requested.quick else SESSIONS:
        requested.say(f"{sessions} sessions")
        requested.load.sample()
        reports[sessions] = simulate(requested.programs.binaries[ENGINE.agent], sessions)
    requested.add(spread_section(reports))
    requested.add(cost_section(reports))


def simulate(simulator: Path, sessions: int) -> Report:
    """One overlay."""
    return call(simulator, "overlay", "--sessions", str(sessions), "--seed", "1", leaves="overlay.json")


def distributions(report: Report) -> dict[str, list[float]]:
    """Figures of an overlay, one value per session or relay."""
    sessions, relays = report["sessions"], report["relays"]
    return {
        "goodput of a session, Mbit/s": [s["goodput_bps"] / 1e6 for s in sessions],
        "goodput / even share of its relays": [s["goodput_bps"] / s["even_bps"] for s in sessions],
        "seconds until a session has converged": [s["converged_s"] for s in sessions if s["converged_s"] is not None],
        "Jain's index among a relay's connections": [r["jain"] for r in relays if r["connections"] > 1],
        "share of a relay's rate in use": [r["use"] for r in relays if r["connections"] > 0],
    }


def spread_section(reports: dict[int, Report]) -> Section:
    """Goodput, fairness and convergence as quantiles."""
    made = Section(
        "spread",
        "60 s of overlays: distributions over sessions and relays",
        ["what, in an overlay of", *(f"{share:.0%}" for share in SHARES), "N"],
    )
    for sessions, report in reports.items():
        found = distributions(report)
        for what, values in found.items():
            cells = [f"{quantile(values, share):.2f}" for share in SHARES] if values else ["–"] * len(SHARES)
            made.row(f"{sessions} sessions: {what}", *cells, str(len(values)))
        never = sum(s["converged_s"] is None for s in report["sessions"])
        whole = jain(found["goodput / even share of its relays"])
        made.notes.append(
            f"{sessions} sessions: Jain's index of goodput / even share {whole:.3f}; {never} never converged."
        )
    made.notes.append(
        "Goodput, Jain's index and use: the last half. Converged: the first second with 90% of the later mean. What an "
        "overlay is made of: docs/engines.md, and in numbers the parameters in bench.json."
    )
    made.raw = {str(sessions): distributions(report) for sessions, report in reports.items()}
    made.raw["parameters"] = next(iter(reports.values()))["parameters"]
    return made


def cost_section(reports: dict[int, Report]) -> Section:
    """CPU and memory per session, and how they grow."""
    columns = ["sessions", "million packets", "CPU s", "wall s", "CPU ms per session", "µs per packet", "peak MiB"]
    made = Section("cost", "What an overlay of 60 s costs to simulate", [*columns, "MiB per session"])
    for sessions, report in reports.items():
        cost, packets = report["cost"], report["packets"]
        cpu_s, peak_mib = cost["cpu_s"], cost["peak_bytes"] / 2**20
        figures = [f"{packets / 1e6:.2f}", f"{cpu_s:.1f}", f"{cost['wall_s']:.1f}", f"{1e3 * cpu_s / sessions:.0f}"]
        figures += [f"{1e6 * cpu_s / packets:.2f}", f"{peak_mib:.0f}", f"{peak_mib / sessions:.2f}"]
        made.row(str(sessions), *figures)
        made.raw[str(sessions)] = {**cost, "packets": packets}
    most = max(reports)
    made.at_most(f"CPU of {most} sessions", reports[most]["cost"]["cpu_s"], MOST_CPU_S, ".0f", " s")
    made.notes.append("A packet counts once per link that it is handed to, acknowledgements too: three links a way.")
    return made


BENCHMARK = Benchmark("bench-overlay", "Overlays in virtual time", ENGINE, measure)
