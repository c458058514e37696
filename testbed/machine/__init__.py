"""Requirements of a machine that runs the testbed: one list, read by ``doctor``, by set-up and before every run."""

from testbed.machine.check import Need, lacking, missing, needs, probe_all
from testbed.machine.kernel import kernel_facts
from testbed.machine.provisioning import installable, make_ready

__all__ = ["Need", "installable", "kernel_facts", "lacking", "make_ready", "missing", "needs", "probe_all"]
