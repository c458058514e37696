"""Calls ``ncp-link`` as the instrument: the same for every candidate."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from testbed.bench.ends import Between
from testbed.errors import RunFailed


class Instrument:
    """``ncp-link echo``, ``stream`` and ``load``."""

    def __init__(self, binary: Path) -> None:
        self.binary = binary

    def rtts_ms(self, between: Between, *, count: int, spacing_ms: float, wait_ms: float) -> list[float]:
        """Round-trip times of ICMP echoes, in the order of sending."""
        found = self._call(
            "echo",
            "--from",
            str(between.a),
            "--to",
            between.b.address,
            "--count",
            str(count),
            "--spacing",
            f"{spacing_ms}ms",
            "--wait",
            f"{wait_ms}ms",
        )
        return [float(ms) for ms in found["rtts_ms"] or []]

    def stream(
        self,
        between: Between,
        *,
        ip_bytes: int,
        pps: float = 0,
        packets: int = 0,
        seconds: float = 0,
        window_s: float = 1.0,
        send_buffer_bytes: int = 0,
        wait_ms: float = 1000,
    ) -> dict[str, Any]:
        """UDP packets from ``a`` to ``b``: sent, received, and windows of packets and seconds."""
        return self._call(
            "stream",
            "--from",
            str(between.a),
            "--to",
            str(between.b),
            "--ip-bytes",
            str(ip_bytes),
            "--pps",
            repr(float(pps)),
            "--packets",
            str(packets),
            "--for",
            f"{seconds}s",
            "--window",
            f"{window_s}s",
            "--send-buffer",
            str(send_buffer_bytes),
            "--wait",
            f"{wait_ms}ms",
        )

    def load(self, plan: Path, paths: tuple[str, str], *, pps: float, seconds: float) -> dict[str, Any]:
        """A load on all links of a plan between hosts ``h1`` and ``h2``."""
        return self._call(
            "load",
            "--plan",
            str(plan),
            "--netns",
            f"h1={paths[0]}",
            "--netns",
            f"h2={paths[1]}",
            "--pps",
            repr(float(pps)),
            "--for",
            f"{seconds}s",
        )

    def _call(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [str(self.binary), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise RunFailed(f"ncp-link {arguments[0]}: {done.stderr.strip()[-300:]}")
        found: dict[str, Any] = json.loads(done.stdout)
        return found
