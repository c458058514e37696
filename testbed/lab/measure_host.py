"""Measures this host's links in a few seconds, by the instruments of ``bench links``."""

from __future__ import annotations

import time
from pathlib import Path

from testbed.lab import rate
from testbed.lab.ends import LinkRequest
from testbed.lab.host_links import ECHOES, RATE_BPS, RTT_MS, HostLinks
from testbed.lab.instrument import Instrument
from testbed.lab.ours import Ours
from testbed.lab.quiet import HostLoad
from testbed.lab.rtt import SPACING_MS
from testbed.plan.model import Middle
from testbed.planning.resolve import new_run_id
from testbed.runtime import live

NAME = "bench of the links"


def measure(binary: Path, middle: Middle) -> HostLinks:
    """This host's, as runs have them: the rate at the host, the delay by ``middle``. Where they are off a second
    measurement counts, as one busy moment says nothing. ``binary`` is ``ncp-link``.

    Raises:
        CannotRun: another run is on.
        RunFailed: the instrument broke down.
    """
    run = new_run_id()
    namespace = f"ncp-{run[-4:]}"
    with live.only_run(run, NAME, namespace):
        ours = Ours(namespace, binary, "netem" if middle == "netem" else "relay")
        instrument = Instrument(binary)
        found = _once(ours, instrument)
        return found if not found.off() else _once(ours, instrument)


def _once(ours: Ours, instrument: Instrument) -> HostLinks:
    load = HostLoad()
    load.sample()
    with ours.link(LinkRequest(delay_ms=RTT_MS / 2)) as between:
        rtts_ms = instrument.rtts_ms(between, count=ECHOES, spacing_ms=SPACING_MS, wait_ms=2 * RTT_MS + 300)
    return HostLinks(
        measured_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        middle=ours.middle,
        busy=round(load.busy[0], 4) if load.busy else 0.0,
        rtts_ms=rtts_ms,
        rate_errors=rate.errors_of(instrument, ours, RATE_BPS, 1),
    )
