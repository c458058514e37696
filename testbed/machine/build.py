"""Builds the Go programs and the agents' container images, only when their sources changed."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.errors import CannotRun, RunFailed
from testbed.plan.model import Policy

PROGRAMS = {
    "ncp-collect": "./collectors/cmd/ncp-collect",
    "ncp-agent": "./ncp-agent/cmd/ncp-agent",
    "ncp-far": "./cmd/ncp-far",
    "ncp-link": "./cmd/ncp-link",
    "ncp-push": "./cmd/ncp-push",
    "ncp-sim": "./ncp-agent/cmd/ncp-sim",
    "ncp-trace": "./ncp-agent/cmd/ncp-trace",
    "ncp-web": "./cmd/ncp-web",
    "ndn-agent": "./ndn-agent/cmd/ndn-agent",
    "tcp-download": "./cmd/tcp-download",
}
FLAGS = ("-trimpath", "-buildvcs=false", "-gcflags=all=-d=fmahash=qn")
"""Options of the compiler. The last: it fuses no multiplication with an addition, as it would for ARM, where the sum is
then rounded once instead of twice, and a simulation's bytes would be others than on x86-64."""
IMAGES = "ncp-testbed"
"""Prefix of the images' names; the program's name follows."""


def go_tool() -> str:
    """The Go toolchain: the virtual environment's, else the machine's; at least what go.mod asks for."""
    expected = _version((paths.CHECKOUT / "go.mod").read_text(), r"^go (\d+)\.(\d+)")
    candidates = [str(paths.CHECKOUT / ".venv" / "bin" / "go"), shutil.which("go"), "/usr/local/go/bin/go"]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            said = subprocess.run([candidate, "version"], capture_output=True, text=True, check=False).stdout
            if _version(said, r"go(\d+)\.(\d+)") >= expected:
                return candidate
    raise CannotRun("build.no-go", f"no Go toolchain of {expected[0]}.{expected[1]} or newer", "./run.sh sets one up")


def _version(text: str, pattern: str) -> tuple[int, int]:
    match = re.search(pattern, text, re.MULTILINE)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


def build_programs(
    *names: str,
    source: Path = paths.CHECKOUT,
    into: Path = paths.BINARIES,
    meanwhile: Callable[[], object] = lambda: None,
) -> dict[str, Path]:
    """Static binaries in ``.build/bin``, all or those named; Go's own cache makes it quick when nothing changed.

    ``source``: a tree of sources other than this checkout, with a folder ``into`` of its own. Several runs may build
    at once: what one of them starts is never half written. ``meanwhile`` is done while Go is at it.
    """
    chosen = names or tuple(PROGRAMS)
    built = {name: into / name for name in chosen}
    if into == paths.BINARIES and came_along() and all(path.exists() for path in built.values()):
        return built
    into.mkdir(parents=True, exist_ok=True)
    # Go renames what it linked if that lies on the same file system, else copies it in place.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOTMPDIR": str(into.parent)}
    with subprocess.Popen(
        [go_tool(), "build", *FLAGS, "-o", f"{into}/", *(PROGRAMS[name] for name in chosen)],
        cwd=source,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as building:
        meanwhile()
        _, said = building.communicate()
    if building.returncode:
        raise RunFailed("build.go-failed", f"the Go programs don't build:\n{said.strip()}")
    return built


def came_along() -> bool:
    """Whether the checkout's programs were built elsewhere and are used as they are, on a host of a cluster."""
    return os.environ.get("NCP_TESTBED_NO_BUILD") == "1"


def policy_facts(program: Path) -> dict[str, Policy]:
    """The window policies by name, in the own words (start, cap, rule) of ``ncp-agent`` or ``ncp-sim``."""
    said = subprocess.run([str(program), "policies"], capture_output=True, text=True, check=True).stdout
    policies: list[Policy] = json.loads(said)
    return {policy["name"]: policy for policy in policies}


def build_image(client: Any, agent: Path) -> str:
    """The image of an agent, in ``images/`` by its program's name, tagged by its content; returns the image id."""
    from docker.errors import APIError

    repository = f"{IMAGES}/{agent.name}"
    dockerfile = paths.CHECKOUT / "images" / agent.name / "Dockerfile"
    digest = hashlib.sha256(agent.read_bytes() + dockerfile.read_bytes()).hexdigest()[:16]
    tag = f"{repository}:{digest}"
    found = client.images.list(name=tag)
    if found:
        return str(found[0].id)
    # Only the binary goes to the engine, not all of .build/bin.
    context = paths.CHECKOUT / ".build" / "images" / agent.name
    shutil.rmtree(context, ignore_errors=True)
    context.mkdir(parents=True)
    shutil.copy2(agent, context / agent.name)
    shutil.copy2(dockerfile, context / "Dockerfile")
    image, _ = client.images.build(path=str(context), tag=tag, rm=True, labels={"ncp-testbed": "image"})
    for old in client.images.list(name=repository, filters={"label": "ncp-testbed=image"}):
        if old.id != image.id:
            with suppress(APIError):  # still used by a container: not ours to force
                client.images.remove(old.id)
    return str(image.id)
