"""The kinds of TCP experiments: the section of each in a scenario, and what carries it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from pydantic import Field

from testbed.tcp.download import Download, DownloadTransfer
from testbed.tcp.fetch import Fetch, FetchTransfer
from testbed.tcp.iperf3 import Iperf3, Iperf3Transfer
from testbed.tcp.kind import Kind

Tcp: TypeAlias = Annotated[Download | Fetch | Iperf3, Field(discriminator="kind")]
"""The section ``tcp`` of a scenario: the union of the kinds' sections, told apart by ``kind``."""

KINDS: Mapping[str, type[Kind]] = {"download": DownloadTransfer, "fetch": FetchTransfer, "iperf3": Iperf3Transfer}
