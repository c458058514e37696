"""Accepted reasons to skip tests, by machine; any other skip fails its suite.

Each accepted reason has a condition that is checked on this machine. What set-up installs as root is none there."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from testbed import paths
from testbed.machine import browser, interop
from testbed.machine import guest_kernel as kernel
from testbed.machine.kernel import can


def _root() -> bool:
    return os.geteuid() == 0


def _lacks(*programs: str) -> bool:
    """Whether the machine has none of these programs; for root set-up installs them."""
    return not _root() and not any(map(shutil.which, programs))


def _packaged(package: str) -> bool:
    """Whether set-up installs it: as root, where the distribution has it."""
    try:
        known = subprocess.run(["apt-cache", "pkgnames", package], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return _root() and package in known.stdout.split()


def _no_source() -> bool:
    by_set_up = _root() and kernel.source_is_packaged()
    return kernel.built() is None and kernel.why_not_buildable() is not None and not by_set_up


def _older_linux(major: int, minor: int) -> bool:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return found is not None and (int(found[1]), int(found[2])) < (major, minor)


def _changed(folder: str) -> bool:
    """Whether a folder of the checkout has changes that are not committed."""
    return subprocess.run(["git", "diff", "--quiet", "HEAD", "--", folder], check=False).returncode != 0


ACCEPTED: Mapping[str, Callable[[], bool]] = {
    r"needs root, .*": lambda: not _root(),
    r"(.*: )?operation not permitted": lambda: not can("true").ok,  # even root may not make a network namespace
    r"no processors to keep awake: .*": lambda: not Path("/dev/cpu_dma_latency").exists(),  # as in a container
    r"the guest kernel is not built\. .*": _no_source,
    r"user-mode-linux is not installed, or no gcc for its shim": lambda: (
        kernel.stock() is None and not _packaged("user-mode-linux")
    ),
    r"influxd is not installed": lambda: _lacks("influxd"),
    r"needs OpenSSH's ssh-keygen": lambda: _lacks("ssh-keygen"),
    r"qemu-aarch64 is not installed": lambda: _lacks("qemu-aarch64", "qemu-aarch64-static"),
    r"tshark is not installed": lambda: _lacks("tshark"),
    r"a shell is not here: .*": lambda: not (shutil.which("fish") and shutil.which("zsh")),  # set-up installs neither
    r"needs Chromium or Chrome": lambda: browser.find() is None and not _packaged("chromium"),
    r"could not import 'mininet\.topo': .*": lambda: not _root() and importlib.util.find_spec("mininet") is None,
    r"python-ndn 0\.5\.2 needs Python 3\.11": lambda: sys.version_info < (3, 11),
    r"NDNts: Node is .*": lambda: not interop.node_for_ndnts().ok,
    r"this checkout has no history": lambda: not (paths.CHECKOUT / ".git").exists(),
    r"not committed as it is: .*": lambda: _changed("scenarios"),
    r"roc-validator is not installed \(.*": lambda: not _root(),
    r"distributed is not installed: the dependency group cluster has it": lambda: not _root(),
    # Set-up installs no SSH daemon: it would be open from then on.
    r"not here: .* \(Debian: openssh-server, .*\)": lambda: (
        not all(map(shutil.which, ("/usr/sbin/sshd", "sudo", "/lib/systemd/systemd")))
    ),
    r"not here: dockerd": lambda: _lacks("dockerd"),
    # Set-up installs no controller of Slurm's: it is for tests at night alone.
    r"not here: .*slurmctld.* \(Debian: slurmctld, .*\)": lambda: shutil.which("slurmctld") is None,
    r"this kernel does not tell a peer's window \(TCP_INFO, Linux 5\.4\)": lambda: _older_linux(5, 4),
}
"""Patterns for all of a reason's text, and whether this machine has that reason."""


def objection(reason: str, accepted: Mapping[str, Callable[[], bool]] = ACCEPTED) -> str | None:
    """The fault of a skip for this reason, on this machine; None where it is accepted."""
    known = [holds for pattern, holds in accepted.items() if re.fullmatch(pattern, reason, re.DOTALL)]
    if any(holds() for holds in known):
        return None
    why = "not accepted on this machine" if known else "not among the accepted reasons"
    return f"{reason or 'no reason'}: {why} (testbed/cli/skips.py)"
