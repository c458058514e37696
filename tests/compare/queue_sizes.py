"""Sensitivity of goodput to the length of a queue that drops: simulated with a few packets more and less, beside what
each engine measured.

``python -m tests.compare.queue_sizes shifted`` writes ``shifted.csv`` anew, ``… measured FOLDER…`` ``measured.csv``
from results of ``queue-sizes``, and ``… draw`` the picture of docs/results/buffers.md.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from testbed import paths
from testbed.engines.sim.run import simulate
from testbed.plan.engines import engine_of
from testbed.plan.read import read_plan
from testbed.results.report import style
from tests.golden import plans

DATA = paths.CHECKOUT / "data" / "reference" / "queue-sizes-2026-11-27"
PICTURE = paths.CHECKOUT / "docs" / "images" / "queue-sizes.svg"
POLICIES = ("previous", "nkp24", "delivery-rate")
DROPPING = ("2-drops", "100-drops", "300-drops", "1000-drops", "4096-drops")
SHIFTS = range(-8, 9)
"""Packets by which a queue is longer; KiB by which 64 KiB are more, where the queue has but 2 packets."""
MIB = 2**20
SLOW_PPS, PACKETS = 128, 8192
"""Packets per second of the slow link, and of the transfer."""
ENGINES = {"sim": ("simulator", "o"), "vkernel": ("guest", "s"), "mininet": ("real packets", "D")}
DESCRIPTION = (
    "Left: goodput of nkp24 behind queues of 1000 and 4096 packets at the sender by the packets that arrived over the "
    "slow link, which all engines' runs have in common with the curve of 8 MiB in the time that these packets take. "
    "Right: goodput in rows that drop, a dot for each of 17 simulations whose queue is up to 8 packets shorter or "
    "longer, and larger marks for the engines' own runs."
)


def shifted() -> Iterator[tuple[str, str, int, float]]:
    """Row, policy, shift, and goodput in MiB/s."""
    for row in DROPPING:
        for policy in POLICIES:
            for shift in SHIFTS:
                yield row, policy, shift, simulated(row, policy, shift)


def simulated(row: str, policy: str, shift: int) -> float:
    """Simulate a row whose queue is ``shift`` packets longer; returns its goodput in MiB/s."""
    packets = row.removesuffix("-drops")
    size, queue = ("8MiB", int(packets) + shift) if packets != "2" else (f"{64 + shift}KiB", 2)
    queues = f"queue: {{mode: droptail, limit: {queue} packets}}"
    fast = f"{{name: fast, rate: 1024pps, delay: 50ms, {queues}}}"
    slow = f"{{name: slow, rate: 128pps, delay: 500ms, {queues}}}"
    session = (f"ncp.transfer={size}", "ncp.send_window=4MiB", "ncp.mtu=1024", f"ncp.policy={policy}")
    changes = (f"links=[{fast}, {slow}]", *session)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "logs").mkdir()
        plan = plans.plan_of("startup", *changes, engine="sim", quick=False, checkout=str(paths.CHECKOUT))
        (folder / "plan.json").write_text(json.dumps(plan))
        simulate(folder, plans.programs().binaries["ncp-sim"])
        return float(_receiver(folder)["goodput_bps"]) / 8 / MIB


def _receiver(run: Path) -> Any:
    (file,) = run.glob("agents/*receiver.json")
    return json.loads(file.read_text())


def measured(folders: list[str]) -> Iterator[tuple[str, str, str, float, int]]:
    """Engine, row, policy, goodput in MiB/s and packets that arrived over the slow link, of each trusted run."""
    for folder in map(Path, folders):
        for file in sorted(folder.glob("cells/*/*/*/*/verdict.json")):
            row, policy = file.relative_to(folder).parts[1:3]
            trusted = json.loads(file.read_text())["trust"]["trusted"]
            if not file.parent.is_symlink() and trusted and list(file.parent.glob("agents/*receiver.json")):
                result = _receiver(file.parent)
                goodput = result.get("goodput_bps", 0) / 8 / MIB
                if goodput:
                    arrived = result["connections"][1]["received"]
                    engine = engine_of(read_plan(file.parent / "plan.json")).name
                    yield engine, row, policy, goodput, arrived


def _write(name: str, header: str, rows: Iterator[tuple[Any, ...]]) -> None:
    DATA.mkdir(exist_ok=True)
    with (DATA / name).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header.split(","))
        writer.writerows([f"{value:.4f}" if isinstance(value, float) else value for value in row] for row in rows)


def _read(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


def picture() -> str:
    """The SVG text."""
    with mpl.rc_context(style.SETTINGS):
        figure = Figure(figsize=(9.6, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(2, 3))
        _by_arrivals(left)
        _by_shift(right)
        return style.to_svg(figure, "queue-sizes", DESCRIPTION)


def _by_arrivals(axes: Axes) -> None:
    of = [one for one in _read("measured.csv") if one["policy"] == "nkp24" and one["row"] in ("1000", "4096")]
    x = range(min(int(one["slow_packets"]) for one in of) - 40, max(int(one["slow_packets"]) for one in of) + 40)
    axes.plot(
        x, [PACKETS / 1024 / (packets / SLOW_PPS) for packets in x], color=style.MUTED, label="8 MiB in packets / 128/s"
    )
    for number, (engine, (name, marker)) in enumerate(ENGINES.items()):
        mine = [(int(one["slow_packets"]), float(one["goodput_mib_s"])) for one in of if one["engine"] == engine]
        axes.plot(*zip(*mine, strict=True), marker, color=style.colour(number), label=name)
    axes.set(xlabel="packets that arrived over the slow link", ylabel="goodput (MiB/s)")
    axes.set_title("nkp24 behind 1000 and 4096 packets")
    axes.legend()


def _by_shift(axes: Axes) -> None:
    places = [(row, policy) for row in DROPPING for policy in POLICIES]
    base = {
        (one["row"], one["policy"]): float(one["goodput_mib_s"]) for one in _read("shifted.csv") if one["shift"] == "0"
    }
    for one in _read("shifted.csv"):
        place = one["row"], one["policy"]
        axes.plot(places.index(place), float(one["goodput_mib_s"]) / base[place], ".", color=style.MUTED, markersize=3)
    for one in _read("measured.csv"):
        if (place := (one["row"], one["policy"])) in base and one["engine"] != "sim":
            number = list(ENGINES).index(one["engine"])
            marker = {"marker": ENGINES[one["engine"]][1], "color": style.colour(number), "markersize": 4}
            axes.plot(places.index(place) + 0.15 * number, float(one["goodput_mib_s"]) / base[place], **marker)  # type: ignore[arg-type]
    axes.set_xticks(
        range(len(places)),
        [f"{row.removesuffix('-drops')} {policy}" for row, policy in places],
        rotation=60,
        ha="right",
    )
    axes.axhspan(0.97, 1.03, color=style.SHADE)
    axes.set(ylabel="goodput over the simulator's")
    axes.set_title("queues that drop, ±8 packets")


def main(what: str, *folders: str) -> None:
    """Write data or picture."""
    if what == "shifted":
        _write("shifted.csv", "row,policy,shift,goodput_mib_s", shifted())
    elif what == "measured":
        _write("measured.csv", "engine,row,policy,goodput_mib_s,slow_packets", measured(list(folders)))
    else:
        PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
