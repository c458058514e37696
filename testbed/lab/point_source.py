"""A spool that fills at a steady rate, as a program of its own: what a whole laboratory's agents would write."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

MEASUREMENT = "bench_connection"
SERIES = 200
TICK_S = 0.1


def lines(number: int, count: int, begun_ns: int, rate_pps: int) -> str:
    """``count`` points from the one of that number on, at their own times, with the fields of an agent's
    connection."""
    return "".join(
        f"{MEASUREMENT},connection={k % SERIES},policy=nkp24,role=sender,session=s1 "
        f"delivered_pps=1021.7,delivered_share=0.887,window_packets={3641 + k % 97}.25,window_share=0.889,"
        f"in_flight_packets=203i,rto_ms=512.5,sent={k}i,resent=17i,acked={k}i,lost=3i,rtt_ms=171.375 "
        f"{begun_ns + k * 1_000_000_000 // rate_pps}\n"
        for k in range(number, number + count)
    )


def write(spool: Path, rate_pps: int, for_s: float) -> int:
    """Append ``rate_pps`` points a second for so many seconds; gives their number."""
    begun_ns, begun_s = time.time_ns(), time.monotonic()
    number, whole = 0, round(rate_pps * for_s)
    with spool.open("ab", buffering=0) as file:
        while number < whole:
            due = min(whole, round((time.monotonic() - begun_s) * rate_pps))
            file.write(lines(number, due - number, begun_ns, rate_pps).encode())
            number = due
            time.sleep(TICK_S)
    return number


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--spool", type=Path, required=True)
    parser.add_argument("--rate", type=int, required=True, help="points per second")
    parser.add_argument("--for", type=float, required=True, dest="for_s", help="seconds")
    arguments = parser.parse_args()
    print(write(arguments.spool, arguments.rate, arguments.for_s))
