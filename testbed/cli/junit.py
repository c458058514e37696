"""Skips without an accepted reason, and second tries, in JUnit files.

pytest and gotestsum write them. A test that is in them as failed and as passed passed at its second try. Each accepted
reason to skip has a condition that is checked on this machine. What set-up installs as root is none there."""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from testbed import paths
from testbed.machine import browser, interop
from testbed.machine import guest_kernel as kernel
from testbed.machine.kernel import can

FOLDER = paths.CHECKOUT / ".build" / "test"
"""Folder of the sessions' files (noxfile.py)."""
SECOND_TRY = "second try"
"""Name of a property in a test's ``user_properties``: it did something a second time, and why."""
MOST_SECOND_TRIES = 1
"""More of them, in a whole run, are not a moment's."""
SAID_IN_GO = re.compile(r"^\s+\S+\.go:\d+: (.*)$", re.MULTILINE)
"""Lines that a test in Go logs: the last one before a skip is the reason."""


@dataclass(frozen=True)
class Case:
    """One test as it ended; ``detail`` is the reason of a skip, or why a test that passed did something twice."""

    name: str
    ended: Literal["passed", "failed", "skipped"]
    detail: str = ""


def cases(files: Iterable[Path]) -> list[Case]:
    """All tests of some files, those that ended twice as often."""
    return [_case(element) for file in files for element in ElementTree.parse(file).iter("testcase")]


def _case(element: ElementTree.Element) -> Case:
    name = f"{element.get('classname', '')}::{element.get('name', '')}".removeprefix("::")
    if element.find("failure") is not None or element.find("error") is not None:
        return Case(name, "failed")
    if (skipped := element.find("skipped")) is not None:
        return Case(name, "skipped", _reason(skipped))
    again = [one.get("value", "") for one in element.iter("property") if one.get("name") == SECOND_TRY]
    return Case(name, "passed", "; ".join(again))


def _reason(skipped: ElementTree.Element) -> str:
    message, text = skipped.get("message") or "", skipped.text or ""
    if message.startswith("=== RUN"):
        said = SAID_IN_GO.findall(message)
        return said[-1] if said else ""
    if message == "collection skipped":  # of a whole module: a tuple of file, line and reason
        message = re.sub(r"^\(.*?, \d+, (['\"])(.*)\1\)$", r"\2", text, flags=re.DOTALL)
    return message.removeprefix("Skipped: ").removeprefix("Skipped")


def failed(files: Iterable[Path]) -> list[str]:
    """The tests that failed; none where a file was not written."""
    return [case.name for case in cases(file for file in files if file.exists()) if case.ended == "failed"]


def refused(found: Iterable[Case]) -> list[str]:
    """The skips for which this machine has no reason."""
    skipped = [case for case in found if case.ended == "skipped"]
    return [f"{case.name}: {why}" for case in skipped if (why := objection(case.detail))]


def second_tries(found: Iterable[Case]) -> list[str]:
    """The tests that passed, but only at a second try of theirs or of something in them."""
    every = list(found)
    once_failed = {case.name for case in every if case.ended == "failed"}
    passed = {case.name: case.detail for case in every if case.ended == "passed"}
    return [name for name, detail in passed.items() if detail or name in once_failed]


def counts(found: Iterable[Case]) -> tuple[int, int, int]:
    """Numbers of passed, failed and skipped tests; one that passed at its second try passed."""
    ended: dict[str, str] = {}
    for case in found:
        if ended.get(case.name) != "passed":
            ended[case.name] = case.ended
    words = list(ended.values())
    return words.count("passed"), words.count("failed"), words.count("skipped")


def _root() -> bool:
    return os.geteuid() == 0


def _lacks(*programs: str) -> bool:
    """Whether the machine has none of these programs; for root set-up installs them."""
    return not _root() and not any(map(shutil.which, programs))


def _packaged(package: str) -> bool:
    """Whether set-up installs it: as root, where the distribution has it."""
    return _root() and kernel.distribution_has(package)


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
    return f"{reason or 'no reason'}: {why} (testbed/cli/junit.py)"
