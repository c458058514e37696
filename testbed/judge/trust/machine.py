"""Whether the machine, the relay and the queues were good enough for a run's result to mean anything."""

import json
import statistics
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from collectors.host_load import BUSY, idle_shares, longest_busy_s
from testbed.documents import read_csv, write_csv
from testbed.message import Message, Messages
from testbed.plan.intervals import both_ways
from testbed.plan.model import Plan
from testbed.plan.place import FABRIC
from testbed.points import line_protocol, point
from topologies.impairments import keys_that

DROPPING = keys_that("drops")
"""Properties that have the link emulator drop frames."""
HOST_LOAD = "host_load.csv"
"""The host's samples in the result folder: the seconds that each covers, and the idle part of them."""
Spans = Sequence[tuple[float, float]]


def lossy_interfaces(plan: Plan) -> set[str]:
    """The link emulator's interfaces at which frames are to be lost at some time in the run, by a link's own loss or by
    the timeline."""
    return {
        link[end]["middle_interface"]
        for link in plan["links"]
        for each in both_ways(link, plan["timeline"])
        if not each.up or any(each.link.get(key) for key in DROPPING)
        for end in ("a", "b")
    }


def _may_drop(qdisc: Mapping[str, Any], lossy: Collection[str]) -> bool:
    """Whether a queue may drop frames. A host's queue must block the sender, and that of netem must be long enough. A
    queue in the link emulator (HTB with one below it) drops by design, as does the end of copied frames there."""
    if qdisc["host"] != FABRIC:
        return "parent" in qdisc  # which the drops of the queue below it count for, too
    return qdisc["kind"] != "netem" or qdisc["dev"] in lossy


def violations(
    plan: Plan,
    relay: Mapping[str, Any] | None,
    qdiscs: Sequence[Mapping[str, Any]],
    host_load: Spans,
    clock_step_s: float = 0.0,
) -> list[Message]:
    """The reasons not to trust a run, by measurements that :func:`testbed.judge.trust.of_measurements` describes."""
    limits, lossy = plan["limits"], lossy_interfaces(plan)
    idle = idle_shares(host_load, plan["telemetry"]["interval_ms"] / 1000)
    busy_s = longest_busy_s(host_load)
    found = Messages()
    for link in (relay or {}).get("links", []):
        where = f"link {link['link']} {link['direction']}"
        late_ms, longest_ms = (link["lateness_us"][key] / 1000 for key in ("p99", "max"))
        if late_ms > (limit_ms := limits["lateness_p99_ms"]):
            found.add_message(
                "link.late", f"{where}: 1% of the frames left more than {late_ms:.2f} ms late (limit {limit_ms:g} ms)"
            )
        elif longest_ms > (limit_ms := limits["lateness_max_ms"]):
            found.add_message(
                "machine.stopped",
                f"{where}: the machine stopped: a frame left {longest_ms:.0f} ms late (limit {limit_ms:g} ms)",
            )
        if lost := sum(link["unasked_drops"].values()):
            found.add_message("relay.lost", f"{where}: the relay lost {lost} frames beyond the configured loss")
    if ring := (relay or {}).get("ring_drops"):
        found.add_message(
            "relay.too-slow", f"the relay was too slow for what arrived: the kernel dropped {ring} frames before it"
        )
    for qdisc in qdiscs:
        if qdisc.get("drops") and not _may_drop(qdisc, lossy):
            found.add_message(
                "queue.dropped",
                f"{qdisc['host']} {qdisc['dev']}: the {qdisc['kind']} queue dropped {qdisc['drops']} packets",
            )
    if idle and (mean := statistics.fmean(idle)) < limits["cpu_idle"]:
        found.add_message(
            "machine.starved",
            f"the machine was starved: {mean:.1%} of its CPU time was idle (limit {limits['cpu_idle']:.0%})",
        )
    if busy_s > limits["cpu_busy_s"]:
        found.add_message(
            "machine.busy",
            f"the machine was starved: for {busy_s:.1f} s in a row less than {BUSY:.0%} of its CPU time was idle "
            f"(limit {limits['cpu_busy_s']:g} s)",
        )
    if clock_step_s:
        found.add_message(
            "machine.clock-set",
            f"this machine's clock was set {'forward' if clock_step_s > 0 else 'back'} by {abs(clock_step_s):.1f} s "
            "during the run, so its points are not at the times at which they were sampled",
        )
    return found


def lateness_lines(plan: Plan, relay_file: Path, at_ns: int) -> list[str]:
    """The relay's lateness over all of the run, as :func:`violations` looks at it: points of the measurement
    ``lateness`` (tags run, scenario, link, direction; fields p99_ms, p99_limit_ms, max_ms, max_limit_ms). None where
    there was no relay."""
    if not relay_file.exists():
        return []
    limits, run = plan["limits"], {"run": plan["run"], "scenario": plan["scenario"]}
    points = []
    for link in json.loads(relay_file.read_text()).get("links", []):
        late_us = link["lateness_us"]
        fields = {f"{of}_ms": late_us[of] / 1000 for of in ("p99", "max")}
        fields |= {"p99_limit_ms": float(limits["lateness_p99_ms"]), "max_limit_ms": float(limits["lateness_max_ms"])}
        points.append(point("lateness", {**run, "link": link["link"], "direction": link["direction"]}, fields, at_ns))
    return line_protocol(points).splitlines()


def write_spans(spans: Spans, path: Path) -> None:
    """``host_load.csv``: a row per sample, with all of each number's digits."""
    write_csv(path, [{"seconds": seconds, "idle": idle} for seconds, idle in spans], ("seconds", "idle"), "\n")


def read_spans(path: Path) -> list[tuple[float, float]]:
    """The rows of ``host_load.csv``; raises BadInput, KeyError or ValueError where it is none."""
    return [(float(row["seconds"]), float(row["idle"])) for row in read_csv(path)]
