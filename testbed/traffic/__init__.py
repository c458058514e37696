"""What a run sends, each kind behind one type: NCP, the kernel's TCP, NDN, the kernel's MPTCP."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from testbed.plan.sent import sent_by
from testbed.traffic.traffic import Site, Traffic

__all__ = ["Site", "Traffic", "of"]


def of(plan: Mapping[str, Any]) -> type[Traffic]:
    """What sends a plan's bytes, from the file of that name; loaded when it is asked for, as a run needs one."""
    found: type[Traffic] = importlib.import_module(f"testbed.traffic.{sent_by(plan).name}").TRAFFIC
    return found
