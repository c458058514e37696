"""A run on a terminal, while it is on: windows, shares beside the law, round trips, rates, events, time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from testbed.engines.sampled import EVERY_S, Flow, Sampled, followed
from testbed.plan.model import Plan
from testbed.runtime.progress import Progress, Step

SPARKS = "▁▂▃▄▅▆▇█"
EVENTS = 4
"""The latest that are shown."""
_RATE = {"packets/s": "{:.0f}/s", "Mbit/s": "{:.2f} Mbit/s"}
AROUND = 8
"""Lines of the terminal that connections leave to the rest."""


class LiveProgress(Progress):
    """Steps as lines, and below them the transfer as it goes."""

    def __init__(self) -> None:
        super().__init__()
        self._view: Live | None = None

    def update(self, step: Step, text: str) -> None:
        """The view has it all."""
        if self._view is None:
            super().update(step, text)

    def say(self, text: str) -> None:
        """Above the view."""
        if self._view is None:
            super().say(text)
        else:
            self._view.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def passed_on(self, step: Step, line: str) -> None:
        """How a step of the guest goes in place, all else as lines."""
        name, on, how = line.partition(" … ")
        if on:
            self.update(step, f"{name.strip()} {how}")
        else:
            self.say(line)

    @contextmanager
    def watching(self, plan: Plan, telemetry: Path) -> Iterator[None]:
        """Draw twice a second what was sampled meanwhile."""
        sampled = Sampled(plan, telemetry)
        console = Console(file=sys.stderr, highlight=False, emoji=False)
        sys.stderr.write("\r\033[K")  # the line of the step that is on

        def draw() -> None:
            sampled.look()
            live.update(picture(sampled, console.width, console.height), refresh=True)

        with Live(console=console, auto_refresh=False, transient=True) as live:
            self._view = live
            try:
                with followed(EVERY_S, draw):
                    yield
            finally:
                self._view = None


def picture(sampled: Sampled, width: int, height: int) -> Group:
    """What is shown, for a terminal of so many columns and lines."""
    flows = sorted(sampled.flows.values(), key=lambda flow: (flow.session, len(flow.connection), flow.connection))
    room = max(1, height - AROUND - EVENTS)
    lines: list[Table | Text] = [_head(sampled, width), _table(sampled, flows[:room], width)]
    if len(flows) > room:
        lines.append(Text(f"  and {len(flows) - room} more", "dim"))
    lines += [
        Text(f"  {event.at_s:7.1f} s  {event.kind}  {event.text}"[: width - 1], "dim")
        for event in sampled.happened[-EVENTS:]
    ]
    return Group(*lines)


def _head(sampled: Sampled, width: int) -> Text:
    done = min(1.0, sampled.t_s / sampled.expected_s)
    left_s = sampled.expected_s - sampled.t_s
    left = f"about {left_s:.0f} s left" if left_s > 0 else f"{-left_s:.0f} s more than expected"
    what = f"  {sampled.plan['scenario']}  "
    told = f" {done:4.0%}  {sampled.t_s:.0f} s, {left}"
    bar = max(4, min(40, width - len(what) - len(told) - 1))
    return Text(what, "bold").append(_bar(done, bar), "cyan").append(told)


def _table(sampled: Sampled, flows: Sequence[Flow], width: int) -> Table:
    """Bars and sparklines get what numbers leave of the width."""
    shares = any(flow.share is not None for flow in flows)
    laws = any(sampled.law(flow) is not None for flow in flows)
    names = max(len(_name(sampled, flow)) for flow in flows) if flows else 0
    rates = 12 if any(flow.rate_unit == "Mbit/s" for flow in flows) else 8
    numbers = names + 4 + 8 + 9 + rates + 2 + (9 if shares else 0) + (7 if laws else 0)
    free = max(12, width - numbers - 1)
    bar, spark = (min(60, free * 3 // 5), min(60, free * 2 // 5)) if shares else (0, min(60, free))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("  flow", no_wrap=True)
    table.add_column("window", justify="right", no_wrap=True)
    if shares:
        table.add_column("share" if not laws else "share (| law)", no_wrap=True, width=bar)
        table.add_column("", justify="right", no_wrap=True)
    if laws:
        table.add_column("law", justify="right", no_wrap=True)
    table.add_column("RTT", justify="right", no_wrap=True)
    table.add_column("arrives", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for flow in flows:
        law = sampled.law(flow)
        row: list[str | Text] = [f"  {_name(sampled, flow)}", _number(flow.window_packets, "{:.0f}")]
        if shares:
            row += [_marked(flow.share, law, bar), _number(flow.share, "{:.1%}")]
        if laws:
            row.append(_number(law, "{:.1%}"))
        row += [_number(flow.rtt_ms, "{:.0f} ms"), _number(flow.rate, _RATE[flow.rate_unit])]
        table.add_row(*row, Text(sparkline(list(flow.rates)[-spark:]), "green"))
    return table


def _name(sampled: Sampled, flow: Flow) -> str:
    """By the link where one session has them; else by session and connection."""
    sessions = sampled.plan["sessions"]
    for session in sessions:
        for connection in session["connections"]:
            if session["name"] == flow.session and str(connection["index"]) == flow.connection:
                before = f"{flow.session} " if len(sessions) > 1 else ""
                return f"{before}{flow.connection} {connection['link']}"
    return f"{flow.session} {flow.connection}".strip()


def _number(value: float | None, how: str) -> str:
    return "–" if value is None else how.format(value)


def _bar(share: float, width: int) -> str:
    full = round(min(1.0, max(0.0, share)) * width)
    return "█" * full + "░" * (width - full)


def _marked(share: float | None, law: float | None, width: int) -> Text:
    """A share as a bar, with a mark where the law has it."""
    bar = list(_bar(share or 0.0, width))
    place = None if law is None else min(width - 1, max(0, round(law * width)))
    text = Text()
    for i, cell in enumerate(bar):
        text.append("│" if i == place else cell, "bold yellow" if i == place else "cyan")
    return text


def sparkline(values: Sequence[float]) -> str:
    """A character for each value, from 0 to the largest."""
    top = max(values, default=0.0)
    if top <= 0:
        return SPARKS[0] * len(values)
    return "".join(SPARKS[min(len(SPARKS) - 1, int(max(0.0, value) / top * len(SPARKS)))] for value in values)
