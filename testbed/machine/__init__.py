"""Requirements of a machine that runs the testbed: one list, read by ``doctor``, by set-up and before every run."""

from testbed.machine.check import Need, Requirement, lacking, missing, needs, probe_all
from testbed.machine.finding import Finding, Level
from testbed.machine.kernel import kernel_facts
from testbed.machine.provisioning import Progress, SetupFailed, installable, make_ready, setup

__all__ = [
    "Finding",
    "Level",
    "Need",
    "Progress",
    "Requirement",
    "SetupFailed",
    "installable",
    "kernel_facts",
    "lacking",
    "make_ready",
    "missing",
    "needs",
    "probe_all",
    "setup",
]
