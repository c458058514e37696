"""Measures this host's links in a few seconds, by the instruments of ``bench links``."""

from __future__ import annotations

import time
from pathlib import Path

from testbed.lab.ends import LinkRequest
from testbed.lab.host_links import ECHOES, RATE_BPS, RTT_MS, HostLinks
from testbed.lab.instrument import HostLoad, rate_errors, rtts_ms
from testbed.lab.ours import Ours
from testbed.plan.model import Middle
from testbed.planning.resolve import new_run_id
from testbed.runtime import live


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
