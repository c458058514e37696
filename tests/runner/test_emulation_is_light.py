"""What a guest loads: each module costs it as much time as many packets."""

import subprocess
import sys

LOADED = """
import sys
from testbed.engines.emulation import inside
inside.preload((*inside.NETWORK, "testbed.traffic.ncp"))
print(*sys.modules)
"""
ELSEWHERE = ("docker", "influxdb", "matplotlib", "numpy", "pyroute2", "requests", "ruamel", "scipy")
"""Packages for judging, databases, containers and other traffic."""


def test_a_run_of_ncp_loads_neither_judges_nor_databases() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "mininet.net" in loaded
    assert not loaded & set(ELSEWHERE)
    own = {name.removeprefix("testbed.") for name in loaded if name.startswith("testbed.")}
    packages = {name.split(".")[0] for name in own}
    assert packages.isdisjoint({"archive", "cli", "lab", "planning", "results", "series", "services", "study"})
    assert {name.split(".")[1] for name in own if name.startswith("engines.")} == {"emulation"}
