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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testbed import paths
from testbed.machine import browser, interop
from testbed.machine import guest_kernel as kernel
from testbed.machine.kernel import can


@dataclass(frozen=True)
class Accepted:
    """One reason: a pattern for all of its text, and where it counts."""

    reason: str
    only_where: str
    """The condition in words that follow "only where"."""
    holds: Callable[[], bool]


def _root() -> bool:
    return os.geteuid() == 0


def _no_namespaces() -> bool:
    return not can("true").ok


def _no_source() -> bool:
    by_set_up = _root() and kernel.source_is_packaged()
    return kernel.built() is None and kernel.why_not_buildable() is not None and not by_set_up


def _lacks(program: str) -> Callable[[], bool]:
    return lambda: not _root() and shutil.which(program) is None


def _no_stock_kernel() -> bool:
    return kernel.stock() is None and not (_root() and _packaged("user-mode-linux"))


def _packaged(package: str) -> bool:
    try:
        known = subprocess.run(["apt-cache", "pkgnames", package], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return package in known.stdout.split()


def _no_browser() -> bool:
    return browser.find() is None and not (_root() and _packaged("chromium"))


def _no_shell() -> bool:
    return any(shutil.which(shell) is None for shell in ("fish", "zsh"))


def _no_mininet() -> bool:
    return not _root() and importlib.util.find_spec("mininet") is None


def _older_linux(major: int, minor: int) -> bool:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return found is not None and (int(found[1]), int(found[2])) < (major, minor)


ACCEPTED = (
    Accepted(r"needs root, .*", "the user is not root", lambda: not _root()),
    Accepted(r"(.*: )?operation not permitted", "even root may not make a network namespace", _no_namespaces),
    Accepted(
        r"no processors to keep awake: .*",
        "there is no /dev/cpu_dma_latency, as in a container",
        lambda: not Path("/dev/cpu_dma_latency").exists(),
    ),
    Accepted(
        r"the guest kernel is not built\. .*",
        "it is not built, and its source or tools are not there and not installed by set-up",
        _no_source,
    ),
    Accepted(
        r"user-mode-linux is not installed, or no gcc for its shim",
        "one of them is lacking and not installed by set-up",
        _no_stock_kernel,
    ),
    Accepted(r"influxd is not installed", "there is no influxd, and the user is not root", _lacks("influxd")),
    Accepted(r"needs OpenSSH's ssh-keygen", "there is none, and the user is not root", _lacks("ssh-keygen")),
    Accepted(
        r"qemu-aarch64 is not installed",
        "there is no qemu-aarch64, and the user is not root",
        lambda: _lacks("qemu-aarch64")() and _lacks("qemu-aarch64-static")(),
    ),
    Accepted(r"tshark is not installed", "there is none, and the user is not root", _lacks("tshark")),
    Accepted(r"a shell is not here: .*", "there is no fish or no zsh: set-up installs neither", _no_shell),
    Accepted(r"needs Chromium or Chrome", "there is none, and set-up installs none", _no_browser),
    Accepted(r"could not import 'mininet\.topo': .*", "there is no Mininet, and the user is not root", _no_mininet),
    Accepted(r"python-ndn 0\.5\.2 needs Python 3\.11", "Python is older than 3.11", lambda: sys.version_info < (3, 11)),
    Accepted(
        r"NDNts: Node is .*",
        f"Node is missing or older than {interop.OLDEST_NODE_FOR_NDNTS}",
        lambda: not interop.node_for_ndnts().ok,
    ),
    Accepted(
        r"this checkout has no history",
        "there is no .git in the checkout",
        lambda: not (paths.CHECKOUT / ".git").exists(),
    ),
    Accepted(
        r"not committed as it is: .*",
        "a scenario or table has changes that are not committed",
        lambda: subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "scenarios"], check=False).returncode != 0,
    ),
    Accepted(
        r"roc-validator is not installed \(.*", "the user is not root, for whom set-up installs it", lambda: not _root()
    ),
    Accepted(
        r"distributed is not installed: the dependency group cluster has it",
        "the user is not root, for whom set-up installs it",
        lambda: not _root(),
    ),
    Accepted(
        r"not here: .* \(Debian: openssh-server, .*\)",
        "there is no SSH daemon, sudo or systemd, and set-up installs none: the daemon would be open from then on",
        lambda: any(shutil.which(name) is None for name in ("/usr/sbin/sshd", "sudo", "/lib/systemd/systemd")),
    ),
    Accepted(r"not here: dockerd", "there is none, and the user is not root", _lacks("dockerd")),
    Accepted(
        r"not here: .*slurmctld.* \(Debian: slurmctld, .*\)",
        "there is no controller of Slurm's, and set-up installs none: it is for tests at night alone",
        lambda: shutil.which("slurmctld") is None,
    ),
    Accepted(
        r"this kernel does not tell a peer's window \(TCP_INFO, Linux 5\.4\)",
        "Linux is older than 5.4",
        lambda: _older_linux(5, 4),
    ),
)


def objection(reason: str, accepted: tuple[Accepted, ...] = ACCEPTED) -> str | None:
    """The fault of a skip for this reason, on this machine; None where it is accepted."""
    known = [one for one in accepted if re.fullmatch(one.reason, reason, re.DOTALL)]
    if any(one.holds() for one in known):
        return None
    if not known:
        return f"{reason or 'no reason'}: not among the accepted reasons (testbed/cli/skips.py)"
    return f"{reason}: accepted only where {known[0].only_where}"
