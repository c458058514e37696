"""Other projects' links: mahimahi and rattan, where they are installed. Nothing here installs them.

Each runs in a namespace of its own, so that nothing of the machine's network is changed for it.
"""

import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from testbed.errors import RunFailed
from testbed.lab.ends import Between, End, LinkRequest, namespace
from topologies.commands import in_namespace, run
from topologies.fabric import namespace_of

NOBODY = 65534
START_TIMEOUT_S = 20

# Tells where it is, and stays until its standard input closes: so it ends with this process, come what may.
INSIDE = 'echo "$$ ${MAHIMAHI_BASE:-$RATTAN_BASE}"; exec cat'


class Mahimahi:
    """mm-delay, mm-loss or mm-link: each is a shell of its own, and only one is measured at a time."""

    name = "mahimahi"
    overhead_bytes = 4  # it counts the 4 B header of a TUN device, and sends 1504 B per opportunity
    blocks = False

    @staticmethod
    def missing() -> str:
        """The missing program, or nothing."""
        for tool in ("mm-delay", "mm-link", "mm-loss"):
            if not shutil.which(tool):
                return f"mahimahi: {tool} is not installed (package mahimahi)"
        return ""

    @contextmanager
    def link(self, requested: LinkRequest) -> Iterator[Between]:
        """The link exists within the context."""
        with namespace() as outer, tempfile.TemporaryDirectory(prefix="ncp-bench-") as folder:
            run(in_namespace(namespace_of(outer), ["sysctl", "-qw", "net.ipv4.ip_forward=1"]))
            Path(folder).chmod(0o755)
            shell = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
            shell += [*_mahimahi_command(requested, Path(folder)), "sh", "-c", INSIDE]
            with _started(self.name, [*without_nat(), *shell], outer) as between:
                yield between


def _mahimahi_command(requested: LinkRequest, folder: Path) -> list[str]:
    if requested.rate_bps:
        trace = folder / "trace"
        trace.write_text("".join(f"{ms}\n" for ms in opportunities_ms(requested.rate_bps)))
        return ["mm-link", str(trace), str(trace), "--"]
    if requested.loss:
        return ["mm-loss", "uplink", repr(requested.loss)]
    if requested.delay_ms != int(requested.delay_ms):
        raise ValueError(f"mahimahi takes whole milliseconds, not {requested.delay_ms:g}")
    return ["mm-delay", f"{requested.delay_ms:.0f}"]


def opportunities_ms(rate_bps: float) -> Iterator[int]:
    """A constant rate as mahimahi's trace: a millisecond for each 1504 B, over a period in which a whole
    number of them fits each multiple of 1 kbit/s."""
    period_ms = 1504 * 8
    count = round(rate_bps / 1000)
    return (math.ceil((i + 1) * period_ms / count) for i in range(count))


def without_nat() -> list[str]:
    """mahimahi sets up NAT for traffic beyond this machine, by an iptables that has come to refuse callers
    that are set-user-ID. Nothing here leaves the machine, so it goes without."""
    script = 'mount --bind "$0" "$(readlink -f "$(command -v iptables)")" && exec "$@"'
    return ["unshare", "--mount", "--", "sh", "-c", script, shutil.which("true") or "/bin/true"]


class Rattan:
    """``rattan link``."""

    name = "rattan"
    overhead_bytes = 0  # its rate counts IP packets
    blocks = False

    @staticmethod
    def binary() -> str | None:
        """The program on PATH, or where cargo installs it."""
        cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "bin" / "rattan"
        return shutil.which("rattan") or (str(cargo) if os.access(cargo, os.X_OK) else None)

    @classmethod
    def missing(cls) -> str:
        """The missing program, or nothing."""
        return "" if cls.binary() else "rattan is not installed (cargo install rattan)"

    @contextmanager
    def link(self, requested: LinkRequest) -> Iterator[Between]:
        """The link exists within the context."""
        options = []
        if requested.delay_ms:
            options += [f"--{way}-delay={requested.delay_ms:g}ms" for way in ("uplink", "downlink")]
        if requested.rate_bps:
            options += [f"--uplink-bandwidth={requested.rate_bps:.0f}bps"]
        if requested.loss:
            options += [f"--uplink-loss={requested.loss!r}"]
        with namespace() as outer:
            command = [str(self.binary()), "link", *options, "--", "sh", "-c", INSIDE]
            with _started(self.name, command, outer) as between:
                yield between


@contextmanager
def _started(name: str, command: Sequence[str], outer: int) -> Iterator[Between]:
    """The command runs ``INSIDE`` at the link's near end; the far end is in the namespace around it."""
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            in_namespace(namespace_of(outer), command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd="/",
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            said = _place(process.stdout)
            if said is None:
                errors.seek(0)
                words = errors.read().strip()[-300:]
                raise RunFailed("bench.peer-made-no-link", f"{name} made no link: {words}")
            inside = namespace_of(int(said[1]))
            yield Between(End(inside, _own_address(inside)), End(namespace_of(outer), said[2]))
        finally:
            process.stdin.close()
            try:
                process.wait(START_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _place(output: IO[str]) -> re.Match[str] | None:
    """The output of ``INSIDE``, among any other output; None if it never comes."""
    for line in output:
        if found := re.fullmatch(r"(\d+) ([\d.]+)\n", line):
            return found
    return None


def _own_address(path: str) -> str:
    for interface in json.loads(run(in_namespace(path, ["ip", "-j", "-4", "addr"]))):
        for address in interface["addr_info"]:
            if interface["ifname"] != "lo":
                return str(address["local"])
    raise RunFailed("bench.peer-without-address", "the peer's link has no address at its near end")
