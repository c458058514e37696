"""``windows.csv``: the sender's connections over time, one row per sample and connection."""

from __future__ import annotations

import csv
from pathlib import Path

from testbed.series import Reader, named
from testbed.series.reader import NANOSECONDS, group_order, start_of

_SERIES = {
    "window": ("window_packets", 3),
    "share": ("window_share", 6),
    "in_flight": ("in_flight_packets", 0),
    "rtt_ms": ("rtt_ms", 3),
    "rto_ms": ("rto_ms", 3),
    "acked": ("acked", 0),
}
"""The series of each column, and its decimals."""
COLUMNS = ("t_s", "connection", *_SERIES, "session")


def write_windows_csv(reader: Reader, sessions: list[str], path: Path) -> int:
    """Writes the samples since each session's transfer_start; returns the number of rows.

    Windows, in flight and acked are packets, times since the transfer's start are seconds. A value that was
    not sampled is left empty.
    """
    events = reader.events()
    rows: dict[tuple[str, int, str], dict[str, str]] = {}
    for session in sessions:
        start = start_of(events, session)
        if start is None:
            continue
        for column, (series, decimals) in _SERIES.items():
            for connection, samples in reader.read(named(series), {"session": session}).items():
                for t_ns, value in zip(samples.t_ns.tolist(), samples.values.tolist(), strict=True):
                    elapsed = t_ns - start
                    if elapsed >= 0:
                        rows.setdefault((session, elapsed, connection), {})[column] = f"{value:.{decimals}f}"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for session, elapsed, connection in sorted(rows, key=lambda key: (key[0], key[1], group_order(key[2]))):
            row = rows[session, elapsed, connection]
            values = [row.get(column, "") for column in _SERIES]
            writer.writerow([f"{elapsed / NANOSECONDS:.3f}", connection, *values, session])
    return len(rows)
