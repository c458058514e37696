"""Calls ``ncp-link`` as the instrument: the same for every candidate."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed
from testbed.lab.ends import Between


class Instrument:
    """``ncp-link echo``, ``stream`` and ``load``."""

    def __init__(self, binary: Path) -> None:
        self.binary = binary

    def rtts_ms(self, between: Between, *, count: int, spacing_ms: float, wait_ms: float) -> list[float]:
        """Round-trip times of ICMP echoes, in the order of sending."""
        options = {"count": count, "spacing": f"{spacing_ms}ms", "wait": f"{wait_ms}ms"}
        found = self._call("echo", {"from": between.a, "to": between.b.address} | options)
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
        options = {
            "from": between.a,
            "to": between.b,
            "ip-bytes": ip_bytes,
            "pps": float(pps),
            "packets": packets,
            "for": f"{seconds}s",
            "window": f"{window_s}s",
            "send-buffer": send_buffer_bytes,
            "wait": f"{wait_ms}ms",
        }
        return self._call("stream", options)

    def load(self, plan: Path, paths: tuple[str, str], *, pps: float, seconds: float) -> dict[str, Any]:
        """A load on all links of a plan between hosts ``h1`` and ``h2``."""
        options = {"plan": plan, "pps": float(pps), "for": f"{seconds}s"}
        return self._call("load", options, "--netns", f"h1={paths[0]}", "--netns", f"h2={paths[1]}")

    def _call(self, what: str, options: Mapping[str, object], *further: str) -> dict[str, Any]:
        given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        done = subprocess.run(
            [str(self.binary), what, *given, *further],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise RunFailed(
                "bench.ncp-link-failed", "ncp-link {what}: {stderr}", what=what, stderr=done.stderr.strip()[-300:]
            )
        found: dict[str, Any] = json.loads(done.stdout)
        return found
