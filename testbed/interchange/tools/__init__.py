"""Topologies of other tools: brought in as a scenario (``bring_in``), or a scenario handed out (``to_clab``)."""

from testbed.interchange.tools.bring_in import bring_in
from testbed.interchange.tools.to_clab import to_clab

__all__ = ["bring_in", "to_clab"]
