"""Selects the kernel of a guest: the one with virtual time if it has been built, else Debian's own in real time."""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testbed import paths
from testbed.errors import BadInput, CannotRun
from testbed.machine.finding import Probed

RECIPE = paths.CHECKOUT / "images" / "vkernel" / "kernel"
"""Patch, configuration and build script of the kernel with virtual time."""
SOURCE = Path("/usr/src/linux-source-6.12.tar.xz")
"""Sources in Debian's package linux-source-6.12 (bookworm-security, trixie)."""
PACKAGE = "linux-source-6.12"
SHARED_CACHE = Path("/var/cache/ncp-testbed")
"""Folder in which root builds it, for all users of the machine."""
STOCK = "linux.uml"
SHIM = paths.CHECKOUT / "images" / "vkernel" / "xstate-shim.c"

WHAT_STOCK_COSTS = (
    "Debian's user-mode-linux has no virtual time: the run takes as long as it says, a busy machine disturbs it, "
    "and it is not repeatable"
)


@dataclass(frozen=True)
class Kernel:
    """A User-Mode Linux kernel on this machine."""

    program: Path
    exact: bool
    """Whether it runs in virtual time, so that its results are the same every time."""
    preload: Path | None = None

    def identity(self) -> str:
        """The program's SHA-256: another kernel may have other results."""
        return _sha256(self.program)


@cache
def _sha256(program: Path) -> str:
    return hashlib.sha256(program.read_bytes()).hexdigest()


def chosen() -> Kernel:
    """The kernel to use: the built one, else Debian's; raises :class:`CannotRun` where there is neither."""
    if program := built():
        return Kernel(program, exact=True)
    if program := stock():
        return Kernel(program, exact=False, preload=_shim())
    raise CannotRun(
        "vkernel.none",
        "there is no guest kernel: the one with virtual time is not built, and user-mode-linux is not installed",
        f"{why_not_buildable() or './run.sh doctor --build builds it.'}",
    )


def built() -> Path | None:
    """The kernel with virtual time: what ``NCP_TESTBED_VKERNEL`` names, else the one that was built from this
    checkout's recipe; or None."""
    if named := os.environ.get("NCP_TESTBED_VKERNEL"):
        if not os.access(named, os.X_OK):
            raise BadInput(
                "vkernel.not-a-kernel", f"NCP_TESTBED_VKERNEL={named}: should be a kernel, an executable file"
            )
        return Path(named).resolve()
    digest = recipe_digest()
    places = (folder / "vkernel" / digest / "linux" for folder in (own_cache(), SHARED_CACHE))
    return next((program for program in places if os.access(program, os.X_OK)), None)


def stock() -> Path | None:
    """Debian's user-mode-linux, or None."""
    found = shutil.which(STOCK)
    return Path(found) if found and shutil.which("gcc") else None


def own_cache() -> Path:
    """This user's cache: root's is everybody's."""
    if os.geteuid() == 0:
        return SHARED_CACHE
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ncp-testbed"


def target() -> Path:
    """Path of the built kernel."""
    return own_cache() / "vkernel" / recipe_digest() / "linux"


def recipe_digest() -> str:
    """16 hexadecimal digits that change with the patch, the configuration, the build script and the source.

    Not kept: set-up may install the source while this process runs."""
    digest = hashlib.sha256()
    for path in (RECIPE / name for name in ("build.sh", "kernel.config", "time-travel.patch")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update(source_version().encode())
    return digest.hexdigest()[:16]


def source_version() -> str:
    """The installed version of the source package, empty where it is not installed."""
    query = ["dpkg-query", "-W", "-f", "${Version}", PACKAGE]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


TOOLS = ("gcc", "make", "flex", "bison", "bc", "patch", "xz")


def distribution_has(package: str) -> bool:
    """Whether this machine's package sources have it; Debian 12 without its security updates has not all."""
    apt_cache = shutil.which("apt-cache")
    if apt_cache is None:
        return False
    known = subprocess.run([apt_cache, "pkgnames", package], capture_output=True, text=True, check=False)
    return package in known.stdout.split()


def source_is_packaged() -> bool:
    """Whether set-up can install what the kernel is built from."""
    return os.uname().machine == "x86_64" and distribution_has(PACKAGE)


def why_not_buildable() -> str | None:
    """Reasons why the kernel with virtual time can't be built, and the way out; or None."""
    lacking = [tool for tool in TOOLS if not shutil.which(tool)]
    if not SOURCE.exists():
        lacking.append(PACKAGE)
    if os.uname().machine != "x86_64":
        return f"the guest kernel is for x86-64 only, this machine is {os.uname().machine}"
    if not lacking:
        return None
    packages = " ".join("xz-utils" if name == "xz" else name for name in lacking)
    return f"As root: apt-get install {packages}"


def probe_any() -> Probed:
    """Whether there is a kernel for a guest, or what it takes to build one."""
    lacking = why_not_buildable()
    if built() or stock() or not lacking:
        return Probed(True, "there, or can be built")
    return Probed(False, f"none, and none can be built. {lacking}", by_hand=os.uname().machine != "x86_64")


def probe_for_tests() -> Probed:
    """Whether tests have the kernel with virtual time, or could have no more than this machine's distribution has."""
    if built():
        return Probed(True, "built")
    lacking = why_not_buildable()
    if lacking and not source_is_packaged():
        return Probed(True, "not to be had here, tests that need it are skipped")
    return Probed(not lacking, lacking or "can be built")


def probe_virtual_time() -> Probed:
    """The kernel with virtual time: built, ready to be built, or what stands in for it."""
    if program := built():
        return Probed(True, f"built: {program}")
    if not (lacking := why_not_buildable()):
        return Probed(False, "not built yet: --engine vkernel or doctor --build does it, once, in some minutes")
    instead = "Debian's user-mode-linux in real time instead" if stock() else "and no user-mode-linux"
    return Probed(False, f"can't be built, {instead}. {lacking}")


def _shim() -> Path:
    """The library that lets Debian's kernel start on processors with a large XSAVE area."""
    library = paths.CHECKOUT / ".build" / "vkernel" / "xstate-shim.so"
    if not library.exists() or library.stat().st_mtime < SHIM.stat().st_mtime:
        library.parent.mkdir(parents=True, exist_ok=True)
        scratch = library.with_suffix(f".{os.getpid()}")
        subprocess.run(["gcc", "-O2", "-Wall", "-shared", "-fPIC", "-o", str(scratch), str(SHIM)], check=True)
        scratch.rename(library)
    return library
