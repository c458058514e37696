"""Overlays of growing size in virtual time: what sessions get, and what a session costs to simulate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.engines.sim.engine import ENGINE
from testbed.lab.benchmark import Benchmark, Measurement
from testbed.lab.figures import quantile
from testbed.lab.simulator import call
from testbed.lab.table import Section
from testbed.results.report import style

SESSIONS, QUICK_SESSIONS = (10, 100, 1000), (10, 100)
MOST_CPU_S = 300
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)

Report = dict[str, Any]
"""``overlay.json`` of ``ncp-sim overlay``."""


def measure(requested: Measurement) -> None:
    """One overlay of each size, with plots."""
    reports: dict[int, Report] = {}
    for sessions in QUICK_SESSIONS if requested.quick else SESSIONS:
        requested.say(f"{sessions} sessions")
        requested.load.sample()
        reports[sessions] = simulate(requested.programs.binaries[ENGINE.agent], sessions)
    requested.add(spread_section(reports))
    requested.add(cost_section(reports))
    write_plots(requested.folder, reports)


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


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index (Jain, Chiu, Hawe, DEC-TR-301, 1984): 1 if all are equal."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


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
    made.notes.append(_in_words(next(iter(reports.values()))["parameters"]))
    made.raw = {str(sessions): distributions(report) for sessions, report in reports.items()}
    return made


def _in_words(made_of: Mapping[str, Any]) -> str:
    rate, delay = made_of["rate_pps"], made_of["delay_ms"]
    return (
        f"Each session has {made_of['connections']} connections, each over one of "
        f"{made_of['relays_per_session']:g} relays per session, drawn evenly, and links of its own at both ends "
        f"({made_of['access_pps']:g} packets/s, {made_of['access_ms']:g} ms). Relays: Pareto rates (least "
        f"{rate['least']:g} packets/s, shape {rate['shape']:g}, cut at {rate['most']:g}) and one-way delays (least "
        f"{delay['least']:g} ms, shape {delay['shape']:g}, cut at {delay['most']:g}), drop-tail queues of "
        f"{made_of['queue_ms']:g} ms, at least {made_of['queue_packets']} packets. Sessions start over "
        f"{made_of['starts_within_s']:g} s and send to the end; a relay goes away after {made_of['up_s']:g} s for "
        f"{made_of['down_s']:g} s, both exponential means. Policy {made_of['policy']}, seed {made_of['seed']}. "
        "Goodput, Jain's index and use: the last half. Converged: the first second with 90% of the later mean."
    )


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


def write_plots(place: Path, reports: dict[int, Report]) -> None:
    """One SVG per distribution: the share of sessions or relays up to a value."""
    place.mkdir(parents=True, exist_ok=True)
    for number, what in enumerate(distributions(next(iter(reports.values())))):
        with style.new_plot(what[0].upper() + what[1:], "share of all") as (figure, axes):
            for index, (sessions, report) in enumerate(reports.items()):
                looks = {"color": style.SERIES_COLOURS[index], "linestyle": style.LINE_STYLES[index]}
                if values := distributions(report)[what]:
                    axes.ecdf(values, label=f"{sessions} sessions", **looks)
            axes.set_xlabel(what)
            axes.legend(loc="lower right")
            name = f"overlay-{number + 1}"
            (place / f"{name}.svg").write_text(style.to_svg(figure, name, what), encoding="utf-8")


BENCHMARK = Benchmark("bench-overlay", "Overlays in virtual time", ENGINE, measure)
