"""Probes of what the real peers need: Node, and npm's packages as their lock files pin them."""

import json
import re
import shutil
import subprocess
from functools import cache, partial

from testbed import paths
from testbed.machine.finding import Probed

OLDEST_NODE = 18
OLDEST_NODE_FOR_NDNTS = 20
NCP_PEERS, NDN_PEERS = "peers/npm-ncp", "peers/ndn"
"""Folders with a ``package.json``."""


def node(oldest: int = OLDEST_NODE) -> Probed:
    """Node, new enough for the peer program of NCP, or as new as another program wants it."""
    if shutil.which("node") is None:
        return Probed(False, "not installed")
    said = _node_version()
    version = re.match(r"v(\d+)\.", said)
    ok = version is not None and int(version.group(1)) >= oldest
    return Probed(ok, said if ok else f"{said or 'no version'}, older than {oldest}")


@cache
def _node_version() -> str:
    return subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=10).stdout.strip()


def packages(folder: str = NCP_PEERS) -> Probed:
    """Packages that ``npm ci`` installs beside a folder's lock file, by npm's own record of it."""
    expected = _integrity(folder, "package-lock.json")
    try:
        found = _integrity(folder, "node_modules/.package-lock.json")
    except (OSError, ValueError):
        return Probed(False, "not installed")
    wrong = [name for name, integrity in expected.items() if found.get(name) != integrity]
    if wrong:
        return Probed(False, f"not as pinned: {', '.join(name.removeprefix('node_modules/') for name in wrong)}")
    return Probed(True, f"as in {folder}/package-lock.json")


node_for_ndnts = partial(node, OLDEST_NODE_FOR_NDNTS)
ndn_packages = partial(packages, NDN_PEERS)


def _integrity(folder: str, file: str) -> dict[str, str]:
    """Each installed package's checksum."""
    packages = json.loads((paths.CHECKOUT / folder / file).read_text())["packages"]
    return {name: str(entry["integrity"]) for name, entry in packages.items() if name}
