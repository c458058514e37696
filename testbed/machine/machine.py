"""Probes of what is installed and of the machine itself."""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any

import psutil
from packaging.requirements import Requirement as PinnedPackage

from testbed import paths
from testbed.errors import TestbedError
from testbed.machine import guest_kernel, packages
from testbed.machine.browser import find as find_browser
from testbed.machine.build import came_along, go_tool
from testbed.machine.finding import Probed
from testbed.services.influx.server import status as influx_status

IMPORTS = Lock()
"""Lock of imports: probes run in parallel, and Debian 12's Python may hang where threads import at once."""
DOCKER_TIMEOUT_S = 3
FREE_DISK_BYTES = 2 << 30  # images, Go's build cache and some tens of runs
FREE_MEMORY_BYTES = 1 << 30


def root() -> Probed:
    """Namespaces, links and raw sockets are root's."""
    user = os.geteuid()
    return Probed(user == 0, "yes" if user == 0 else f"running as user {user}")


def pinned(*groups: str) -> Callable[[], Probed]:
    """A probe: every package that uv.lock pins for these groups and this Python is installed in that version."""

    def probe() -> Probed:
        wrong = _not_as_pinned(packages.export(*groups), sys.path)
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        return Probed(not wrong, f"{', '.join(wrong[:3])}{more}" or "as in uv.lock")

    return probe


def browser() -> Probed:
    """A browser that prints reports and in which tests look at them."""
    path = find_browser()
    return Probed(path is not None, path or "none of Chromium and Chrome is installed")


ROC_VALIDATOR = paths.CHECKOUT / ".build" / "roc-validator" / "bin" / "rocrate-validator"
"""Has an environment of its own: it needs other versions of packages than the testbed."""


def test_tools() -> Probed:
    """The pinned linters and test runners, the C compiler that Go's race detector needs, the validator of bundles'
    metadata, tshark, which opens traces, and what the guest kernel is built from, where the distribution has it."""
    found = {
        "": pinned("test")(),
        "gcc: ": program("gcc", "--version")(),
        "guest kernel: ": guest_kernel.probe_for_tests(),
        "tshark: ": program("tshark")(),
        "roc-validator: ": Probed(True, "yes") if ROC_VALIDATOR.exists() else Probed(False, "not installed"),
    }
    detail = "; ".join(f"{name}{probed.detail}" for name, probed in found.items())
    return Probed(all(probed.ok for probed in found.values()), detail)


SITE = paths.CHECKOUT / ".build" / "mkdocs"
"""The environment that makes the site of docs/."""
SITE_SCRIPTS = ("mermaid.min.js", "index.js")
"""Files that pages would else fetch when they are read."""


def site_tools() -> Probed:
    """MkDocs with its theme, as pinned, in an environment of its own, and the scripts of its pages."""
    folders = [str(folder) for folder in SITE.glob("lib/python*/site-packages")]
    wrong = _not_as_pinned(packages.export("docs"), folders)
    if wrong:
        return Probed(False, f"{len(wrong)} packages are not as in uv.lock: {', '.join(wrong[:3])}")
    lacking = [name for name in SITE_SCRIPTS if not (SITE / "scripts" / name).exists()]
    return Probed(not lacking, f"no {lacking[0]}" if lacking else "as in uv.lock")


def _not_as_pinned(lines: str, folders: list[str]) -> list[str]:
    """The packages of a requirements file that ``folders`` of packages don't have in that version."""
    wrong = []
    for package in map(PinnedPackage, lines.splitlines()):
        if package.marker is not None and not package.marker.evaluate():
            continue
        there = importlib.metadata.distributions(name=package.name, path=folders)
        installed = next((one.version for one in there), None)
        if not package.specifier.contains(installed or "0", prereleases=True):
            wrong.append(f"{package.name}{package.specifier} ({installed or 'not installed'})")
    return wrong


def mininet() -> Probed:
    """Debian's Mininet, importable from this Python, with its helper program."""
    if importlib.util.find_spec("mininet") is None:
        return Probed(False, "not importable from this Python")
    if shutil.which("mnexec") is None:
        return Probed(False, "its program mnexec is not in PATH")
    with IMPORTS:
        from mininet.net import VERSION

    return Probed(True, str(VERSION))


def docker_engine() -> Probed:
    """The Docker engine; one that is installed but silent is distinguished from none."""
    with IMPORTS:
        import docker
        import docker.errors

    try:
        with closing(docker.from_env(timeout=DOCKER_TIMEOUT_S)) as client:
            version, info = client.version(), client.info()
        return Probed(True, f"{version['Version']} (API {version['ApiVersion']}), {control_groups(info)}")
    except (docker.errors.DockerException, OSError) as error:
        if shutil.which("dockerd") is None and "DOCKER_HOST" not in os.environ:
            return Probed(False, "not installed")
        elsewhere = "DOCKER_HOST" in os.environ  # an engine of the user's own, not ours to start
        return Probed(False, f"installed but does not answer: {str(error)[:120]}", by_hand=elsewhere)


def control_groups(info: Mapping[str, Any]) -> str:
    """The engine's version of cgroups, by its own ``info``, and the agents' limits that it can't set there: a kernel
    may be without that controller, and then no container has the limit."""
    lacking = [what for key, what in (("MemoryLimit", "memory"), ("PidsLimit", "tasks")) if not info.get(key)]
    limits = f"without a limit of agents' {' and '.join(lacking)}" if lacking else "limits of memory and tasks"
    return f"cgroup v{info.get('CgroupVersion', '1')}, {limits}"


def program(name: str, *version_arguments: str) -> Callable[[], Probed]:
    """A probe: a program is in PATH; its version when it takes arguments that print one."""

    def probe() -> Probed:
        path = shutil.which(name)
        if path is None:
            return Probed(False, "not in PATH")
        if not version_arguments:
            return Probed(True, path)
        said = subprocess.run([path, *version_arguments], capture_output=True, text=True, check=False, timeout=5)
        lines = [*said.stdout.splitlines(), *said.stderr.splitlines()]
        return Probed(True, lines[0].strip() if lines else path)

    return probe


def go_version() -> Probed:
    """A toolchain at least as new as go.mod asks; none where nothing is built."""
    if came_along():
        return Probed(True, "not needed: the programs came along")
    try:
        tool = go_tool()
    except TestbedError as error:
        return Probed(False, error.message)
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    said = subprocess.run([tool, "env", "GOVERSION"], capture_output=True, text=True, timeout=10, env=environment)
    return Probed(said.returncode == 0, f"{said.stdout.strip()} ({tool})")


def influxdb() -> Probed:
    """A server to write to: ours, or one that can be started, or the user's own."""
    server = influx_status()
    if server.state in ("running", "external"):
        return Probed(True, f"{server.state} at {server.url}")
    if shutil.which("influxd") is None:
        return Probed(False, "not installed")
    if server.state == "foreign":
        return Probed(False, f"the port of {server.url} is held by {server.detail}", by_hand=True)
    return Probed(True, f"installed, starts when needed at {server.url}")


def folders() -> Probed:
    """Whether this user may write what is built and results."""
    for folder in (paths.BINARIES, paths.results()):
        nearest = _nearest(folder)
        if not nearest.is_dir():
            return Probed(False, f"{folder} can't be made: {nearest} is no folder")
        if os.statvfs(nearest).f_flag & os.ST_RDONLY:
            return Probed(False, f"{nearest} is on a read-only disk")
        if not os.access(nearest, os.W_OK | os.X_OK):
            return Probed(False, f"user {os.geteuid()} can't write to {nearest} of user {nearest.stat().st_uid}")
    return Probed(True, f"{paths.BINARIES} and {paths.results()} can be written")


def disk() -> Probed:
    """Free space where results and machine state go."""
    state = Path(os.environ.get("NCP_TESTBED_STATE", "/var/lib/ncp-testbed"))
    free = {str(folder): shutil.disk_usage(_nearest(folder)).free for folder in (paths.results(), state)}
    text = ", ".join(f"{size / (1 << 30):.1f} GiB free for {folder}" for folder, size in free.items())
    return Probed(min(free.values()) >= FREE_DISK_BYTES, text)


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest parent that exists."""
    return next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())


def memory() -> Probed:
    """Memory that is free for agents, InfluxDB and the Go compiler."""
    now = psutil.virtual_memory()
    text = f"{now.total / (1 << 30):.1f} GiB, {now.available / (1 << 30):.1f} GiB available"
    return Probed(now.available >= FREE_MEMORY_BYTES, text)


def cores() -> Probed:
    """Cores that this process may use: two agents and the relay share them."""
    count = len(os.sched_getaffinity(0))
    return Probed(count >= 2, str(count))
