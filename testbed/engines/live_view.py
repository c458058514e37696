"""A run on a terminal, while it is on: windows, shares beside the law, round trips, rates, events, time left."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from testbed.engines.sampled import EVERY_S, Flow, Following, Sampled
from testbed.plan.model import Plan
from testbed.runtime.progress import Progress, Step
from testbed.runtime.terminal import as_it_is, console

SPARKS = "▁▂▃▄▅▆▇█"
EVENTS = 4
"""The number of events that are shown, the latest ones."""
_RATE = {"packets/s": "{:.0f}/s", "Mbit/s": "{:.2f} Mbit/s"}
AROUND = 8
"""Lines of the terminal that connections leave to the rest."""


class LiveProgress(Progress):
    """Shows steps as lines, and below them the transfer as it goes."""

    def __init__(self) -> None:
        super().__init__()
        self._view: Live | None = None

    def update(self, step: Step, text: str) -> None:
        """Nothing while there is a view, which shows it all."""
        if self._view is None:
            super().update(step, text)

    def say(self, text: str) -> None:
        """Print a line above the view."""
        if self._view is None:
            super().say(text)
        else:
            self._view.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def passed_on(self, step: Step, line: str) -> None:
        """Show the progress of a guest's step in place, all else as lines."""
        name, on, how = line.partition(" … ")
        if on:
            self.update(step, f"{name.strip()} {how}")
        else:
            self.say(line)

    @contextmanager
    def watching(self, plan: Plan, telemetry: Path) -> Iterator[None]:
        """Draw the newest samples twice a second."""
        sampled = Sampled(plan, telemetry)
        screen = console(sys.stderr)
        as_it_is(sys.stderr).write("\r\033[K")  # clear the line of the current step

        def draw() -> None:
            sampled.look()
            live.update(picture(sampled, screen.width, screen.height), refresh=True)

        with Live(console=screen, auto_refresh=False, transient=True) as live:
            self._view = live
            try:
                with Following(EVERY_S, draw):
                    yield
            finally:
                self._view = None


def picture(sampled: Sampled, width: int, height: int) -> Group:
    """The view for a terminal of so many columns and lines."""
    flows = sorted(sampled.flows.values(), key=lambda flow: (flow.session, len(flow.connection), flow.connection))
    room = max(1, height - AROUND - EVENTS)
    lines: list[Table | Text] = [_head(sampled, width), _table(sampled, flows[:room], width)]
    if len(flows) > room:
        lines.append(Text(f"  and {len(flows) - room} more", "dim"))
    for event in sampled.happened[-EVENTS:]:
        lines.append(Text(f"  {event.at_s:7.1f} s  {event.kind}  {event.text}"[: width - 1], "dim"))
    return Group(*lines)


def _head(sampled: Sampled, width: int) -> Text:
    done = min(1.0, sampled.t_s / sampled.expected_s)
    name, text = f"  {sampled.plan['scenario']}  ", f"  {sampled.t_s:.0f} s, at best {sampled.expected_s:.0f} s"
    bar = max(4, min(40, width - len(name) - len(text) - 1))
    return Text(name, "bold").append(_bar(done, bar), "cyan").append(text)


def _table(sampled: Sampled, flows: Sequence[Flow], width: int) -> Table:
    """A row for each flow; bars and sparklines get the width that numbers leave."""
    shares = any(flow.share is not None for flow in flows)
    laws = any(sampled.law(flow) is not None for flow in flows)
    names = {id(flow): _name(sampled, flow) for flow in flows}
    rates = 12 if any(flow.rate_unit == "Mbit/s" for flow in flows) else 8
    numbers = max(map(len, names.values()), default=0) + 23 + rates + 9 * shares + 7 * laws
    free = max(12, width - numbers - 1)
    bar, spark = (min(60, free * 3 // 5), min(60, free * 2 // 5)) if shares else (0, min(60, free))
    table = Table("  flow", box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("window", justify="right")
    if shares:
        table.add_column("share (| law)" if laws else "share", width=bar)
        table.add_column("", justify="right")
    for name in [*(["law"] if laws else []), "RTT", "arrives"]:
        table.add_column(name, justify="right")
    table.add_column("")
    for column in table.columns:
        column.no_wrap = True
    for flow in flows:
        law = sampled.law(flow)
        row: list[str | Text] = [f"  {names[id(flow)]}", _number(flow.window_packets, "{:.0f}")]
        if shares:
            row += [_marked(flow.share, law, bar), _number(flow.share, "{:.1%}")]
        if laws:
            row.append(_number(law, "{:.1%}"))
        row += [_number(flow.rtt_ms, "{:.0f} ms"), _number(flow.rate, _RATE[flow.rate_unit])]
        table.add_row(*row, Text(sparkline(list(flow.rates)[-spark:]), "green"))
    return table


def _name(sampled: Sampled, flow: Flow) -> str:
    """A flow's name: with the link where a session's connection has one."""
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
    """A share as a bar, with a mark at the law's share."""
    bar = Text(_bar(share or 0.0, width), "cyan")
    if law is None:
        return bar
    place = min(width - 1, max(0, round(law * width)))
    return bar[:place].append("│", "bold yellow").append(bar[place + 1 :])


def sparkline(values: Sequence[float]) -> str:
    """A character for each value, from 0 to the largest."""
    top = max(values, default=0.0)
    if top <= 0:
        return SPARKS[0] * len(values)
    return "".join(SPARKS[min(len(SPARKS) - 1, int(max(0.0, value) / top * len(SPARKS)))] for value in values)
