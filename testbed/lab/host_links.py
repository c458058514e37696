"""Measurements of a host's links before a study on real packets, and whether runs may use them: they take a few
seconds, by the instruments of ``bench links``."""

import statistics
import time
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from testbed.lab.ends import LinkRequest, Ours
from testbed.lab.instrument import HostLoad, rate_errors, rtts_ms
from testbed.lab.table import quantile
from testbed.plan.model import Middle
from testbed.planning.resolve import new_run_id
from testbed.runtime import live

RTT_MS = 50.0
ECHOES = 100
RATE_BPS = 10e6
LIMITS = {"rtt_mean_error_ms": 1.0, "rtt_p99_error_ms": 2.0, "rate_error": 0.01, "lost": 0.01}
"""Limits of a host: half of the default ones in the calibration of a run (1 ms each way, 2% of the rate), its limit of
lateness, and one echo."""
NAMES = {
    "rtt_mean_error_ms": f"mean error of an RTT of {RTT_MS:g} ms",
    "rtt_p99_error_ms": f"p99 error of an RTT of {RTT_MS:g} ms",
    "rate_error": f"error of a rate of {RATE_BPS / 1e6:g} Mbit/s",
    "lost": f"lost of {ECHOES} echoes",
}

Milliseconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=-1, allow_inf_nan=False)]


class HostLinks(BaseModel):
    """Measurements of one host, by the instruments of ``bench links``, and conclusions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    measured_at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    middle: str
    busy: Annotated[float, Field(le=1, allow_inf_nan=False)]
    """Share of all cores' time that others took just before."""
    rtts_ms: Annotated[list[Milliseconds], Field(max_length=ECHOES)]
    """RTTs of the echoes that came back."""
    rate_errors: list[Share]
    """Errors of the rate in each window of a second; signed."""

    def figures(self) -> dict[str, float | None]:
        """Figures by the names of :data:`LIMITS`; None where nothing came through."""
        errors = [abs(rtt - RTT_MS) for rtt in self.rtts_ms]
        worst = max(self.rate_errors, key=abs, default=None)
        return {
            "rtt_mean_error_ms": round(statistics.fmean(errors), 6) if errors else None,
            "rtt_p99_error_ms": round(quantile(errors, 0.99), 6) if errors else None,
            "rate_error": None if worst is None else round(worst, 9),
            "lost": round(1 - len(errors) / ECHOES, 6),
        }

    def off(self) -> list[str]:
        """Reasons why runs on this host would not be as configured, a line each; none if it is fit."""
        return [
            f"{NAMES[name]}: {_told(name, value)}"
            + (f" (limit {_told(name, LIMITS[name])})" if value is not None else "")
            for name, value in self.figures().items()
            if value is None or abs(value) > LIMITS[name]
        ]

    def text(self) -> str:
        """The figures in a line."""
        mean, p99, rate, lost = (_told(name, value) for name, value in self.figures().items())
        return f"RTT off by {mean}, p99 {p99}; rate by {rate}; {lost} lost"


def _told(name: str, value: float | None) -> str:
    if value is None:
        return "nothing came through"
    return f"{value:.3f} ms" if name.endswith("_ms") else f"{value:.3%}"


def measure(binary: Path, middle: Middle) -> HostLinks:
    """This host's, as runs have them: the rate at the host, the delay by ``middle``. Where they are off a second
    measurement counts, as one busy moment says nothing. ``binary`` is ``ncp-link``.

    Raises:
        CannotRun: another run is on.
        RunFailed: the instrument broke down.
    """
    run = new_run_id()
    namespace = f"ncp-{run[-4:]}"
    with live.only_run(run, "bench of the links", namespace):
        ours = Ours(namespace, binary, "netem" if middle == "netem" else "relay")
        found = _once(ours)
        return found if not found.off() else _once(ours)


def _once(ours: Ours) -> HostLinks:
    load = HostLoad()
    load.sample()
    with ours.link(LinkRequest(delay_ms=RTT_MS / 2)) as between:
        rtts = rtts_ms(ours.binary, between, RTT_MS, ECHOES)
    return HostLinks(
        measured_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        middle=ours.middle,
        busy=load.busy[0],
        rtts_ms=rtts,
        rate_errors=rate_errors(ours.binary, ours, RATE_BPS, 1),
    )
