"""Probes of what this kernel can do, found by doing it in a throwaway network namespace."""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import psutil

from testbed.machine.finding import Probed

SYSCTLS_OF_INTEREST = (
    "net.core.default_qdisc",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.mptcp.enabled",
)

NETEM = "tc qdisc add dev lo root netem delay 1ms"
HTB = "tc qdisc add dev lo root htb"
VETH = "ip link add probe0 type veth peer name probe1"
BRIDGE = "ip link add probe0 type bridge"


def can(command: str) -> Probed:
    """Whether a command works in a fresh network namespace, which is gone when it returns."""
    as_user = [] if os.geteuid() == 0 else ["--map-root-user"]
    try:
        whole = ["unshare", *as_user, "--net", *command.split()]
        done = subprocess.run(whole, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probed(False, f"not known: {error}")
    if done.returncode == 0:
        return Probed(True, "yes")
    why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return Probed(False, f"no: {why}")


def release() -> Probed:
    """Name, release and machine of the kernel."""
    return Probed(True, f"{platform.system()} {platform.release()} {platform.machine()}")


def congestion_control() -> Probed:
    """Default and available TCP congestion controls: the default is not cubic everywhere."""
    kinds = ("", "available_", "allowed_")
    default, available, allowed = (sysctl(f"net.ipv4.tcp_{kind}congestion_control") for kind in kinds)
    return Probed(default is not None, f"{default} is the default; available: {available}; allowed: {allowed}")


def mptcp() -> Probed:
    """Multipath TCP."""
    enabled = sysctl("net.mptcp.enabled")
    return Probed(enabled == "1", {None: "not in this kernel", "1": "on"}.get(enabled, "off"))


def sysctl(name: str) -> str | None:
    """Value of a sysctl in this process's network namespace, None where the kernel has none."""
    try:
        return " ".join(Path("/proc/sys", *name.split(".")).read_text().split())
    except OSError:
        return None


def kernel_facts() -> dict[str, Any]:
    """The kernel, its features and settings and the hardware, for a run's provenance (JSON types only)."""
    return {
        "release": platform.release(),
        "version": platform.version(),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "netem": can(NETEM).ok,
        "htb": can(HTB).ok,
        "mptcp": mptcp().ok,
        "congestion_control": sysctl("net.ipv4.tcp_congestion_control"),
        "sysctls": {name: value for name in SYSCTLS_OF_INTEREST if (value := sysctl(name)) is not None},
    }


def processor() -> str:
    """The processor's name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
