"""The kinds of TCP experiments: what carries out each kind of section (``testbed/scenario/tcp.py``)."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.traffic.tcp.download import DownloadTransfer
from testbed.traffic.tcp.fetch import FetchTransfer
from testbed.traffic.tcp.iperf3 import Iperf3Transfer
from testbed.traffic.tcp.kind import Kind

KINDS: Mapping[str, type[Kind]] = {"download": DownloadTransfer, "fetch": FetchTransfer, "iperf3": Iperf3Transfer}
