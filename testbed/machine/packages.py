"""Python packages: what uv.lock pins for a dependency group of pyproject.toml, and its installation by uv.

``packages.py [--into FOLDER] GROUP…`` installs groups into the environment whose Python runs it, or into one of their
own. run.sh does that before any package is there, so that nothing but the standard library is imported here.

Packages are installed from what ``uv export`` tells, not by ``uv sync``: that would fetch from the addresses in the
lock, whatever index is set, and remove what other groups brought.
"""

import argparse
import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).parent / "uv"
OF_UV = CHECKOUT / "playbooks" / "files" / "uv.txt"
"""Requirements file with uv itself, for pip."""
LOCK = CHECKOUT / "uv.lock"
SECTIONS = ("global", "install", ":env:")
"""Files of pip's configuration, a later one first."""
FROM_PIP = {
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "trusted-host": "UV_INSECURE_HOST",
}
"""Settings of pip → variables of uv."""
SEPARATORS = {"UV_FIND_LINKS": ","}
"""Separators of several values, where they are no spaces."""
SAME_VARIABLE = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}
"""Older names of uv's variables, which users may have set."""
ON = ("1", "on", "true", "yes")


def export(*groups: str, hashes: bool = False) -> str:
    """The packages of some groups as lines of a requirements file, each with its version and marker.

    Raises subprocess.CalledProcessError for a group that there isn't.
    """
    chosen = [f"--only-group={group}" for group in groups]
    plain = ["--no-header", "--no-annotate", *([] if hashes else ["--no-hashes"])]
    command = [str(UV), "export", "--frozen", "--quiet", "--project", str(CHECKOUT), *plain, *chosen]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def install(groups: list[str], into: Path | None = None) -> int:
    """Install what is pinned for the groups and leave all else as it is; returns uv's exit code."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    pip = pip_settings(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    environment = {**os.environ, **as_uv_has_them(pip, os.environ), **by_owner(os.environ)}
    python = Path(sys.executable)
    if into is not None:
        python = into / "bin" / "python"
        if not python.exists():
            command = [str(UV), "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(into)]
            subprocess.run(command, check=True, env=environment)
    command = [str(UV), "pip", "install", "--python", str(python), "--no-progress"]
    command += ["--require-hashes", "--only-binary", ":all:", "--no-deps", "--requirements", "-"]
    command += ["--no-index"] if pip.get("no-index", "").lower() in ON else []
    expected = export(*groups, hashes=True)
    return subprocess.run(command, input=expected, text=True, check=False, env=environment).returncode


def pip_settings(listed: str) -> dict[str, str]:
    """Settings of ``pip config list``, by name; of several sections, the one that pip prefers."""
    found: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in found:
            found[section][name] = str(ast.literal_eval(value))
    return {name: value for section in SECTIONS for name, value in found[section].items()}


def as_uv_has_them(pip: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The variables by which uv does as pip is set to, less those that the user has set for uv."""
    variables = {
        "UV_SYSTEM_CERTS": "true",  # an authority of one's own is among the system's
        # pip takes a version from whichever index has it; of each file the hash is known.
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_PYTHON_DOWNLOADS": "never",
    }
    for name, variable in FROM_PIP.items():
        # pip passes over folders that are not there; uv ends.
        values = pip.get(name, "").split()
        if name == "find-links":
            values = [one for one in values if "://" in one or Path(one).exists()]
        if values and SAME_VARIABLE.get(variable, "") not in environment:
            variables[variable] = SEPARATORS.get(variable, " ").join(values)
    if pip.get("no-cache-dir", "").lower() in ON:
        variables["UV_NO_CACHE"] = "true"
    return {variable: value for variable, value in variables.items() if variable not in environment}


def by_owner(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep users' caches apart. Files in a checkout of another user, who gets them in the end, are no
    links to this user's cache. Where the usual cache is another user's, as with ``sudo`` that keeps HOME, there is one
    in the checkout."""
    links = {} if CHECKOUT.stat().st_uid == os.geteuid() else {"UV_LINK_MODE": "copy"}
    usual = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "uv"
    nearest = next(folder for folder in (usual, *usual.parents) if folder.exists())
    if "UV_CACHE_DIR" in environment or nearest.stat().st_uid == os.geteuid():
        return links
    return {**links, "UV_CACHE_DIR": str(CHECKOUT / ".build" / "uv")}


def main(arguments: list[str]) -> int:
    """Install what the command line names; returns the exit code."""
    parser = argparse.ArgumentParser(prog="packages.py", description="Installs what uv.lock pins for groups.")
    parser.add_argument("groups", nargs="+", metavar="GROUP")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="an environment of their own, made if missing")
    given = parser.parse_args(arguments)
    return install(given.groups, given.into)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
