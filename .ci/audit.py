"""Looks up all that the lock files name in databases of known vulnerabilities: audit.py BIN, the folder of pip-audit.

Exit code 0 where all answered and know of none, 1 where one is known, 4 where one did not answer: no answer is no good
answer.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT_S = 600
EXPORTED = ("most-groups.txt", "crate.txt")
"""Files with the packages that uv.lock pins, as .ci/run writes them beside the folder of pip-audit."""
OF_UV = "playbooks/files/uv.txt"
NONE_KNOWN, KNOWN, NOT_ASKED = "none known", "VULNERABLE", "could not be asked"


@dataclass(frozen=True)
class Audit:
    """One lock file, and the tool that asks about it; ``judge`` reads the outcome off its exit code and stdout."""

    lock: str
    command: tuple[str, ...]
    judge: Callable[[int, str], str]
    folder: str = "."


def of_pip(_code: int, out: str) -> str:
    """The result of the output; the exit code is 1 for a vulnerability and for no answer alike."""
    packages = _json(out).get("dependencies", [])
    if any(package.get("vulns") for package in packages):
        return KNOWN
    return NONE_KNOWN if packages and all("vulns" in package for package in packages) else NOT_ASKED


def of_go(code: int, _out: str) -> str:
    return {0: NONE_KNOWN, 3: KNOWN}.get(code, NOT_ASKED)


def of_npm(_code: int, out: str) -> str:
    """The result of the output; the exit code is 1 for a vulnerability and for no answer alike."""
    total = _json(out).get("metadata", {}).get("vulnerabilities", {}).get("total")
    return NOT_ASKED if total is None else KNOWN if total else NONE_KNOWN


def of_cargo(_code: int, out: str) -> str:
    """The result of the output; without an answer of the database it prints no JSON."""
    found = _json(out).get("vulnerabilities", {}).get("found")
    return {True: KNOWN, False: NONE_KNOWN}.get(found, NOT_ASKED)


def _json(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def audits(programs: Path) -> list[Audit]:
    """All lock files of the checkout, which is the current folder."""
    pip = (str(programs / "pip-audit"), "--require-hashes", "--disable-pip", "--format", "json", "--requirement")
    npm = ("npm", "audit", "--package-lock-only", "--json")
    return [
        *(Audit(f"uv.lock, {name}", (*pip, str(programs.parent / name)), of_pip) for name in EXPORTED),
        Audit(OF_UV, (*pip, OF_UV), of_pip),
        *(
            Audit(str(lock), ("go", "tool", "govulncheck", "-C", str(lock.parent), "./..."), of_go)
            for lock in (Path("go.sum"), *sorted(Path().glob("peers/*/go.sum")))
        ),
        *(
            Audit(str(lock), (str(programs / "cargo-audit"), "audit", "--json", "--file", str(lock)), of_cargo)
            for lock in sorted(Path().glob("peers/*/Cargo.lock"))
        ),
        *(Audit(str(lock), npm, of_npm, str(lock.parent)) for lock in sorted(Path().glob("peers/*/package-lock.json"))),
    ]


def main(programs: Path) -> int:
    """Ask all; returns the exit code."""
    words = []
    for audit in audits(programs):
        try:
            done = subprocess.run(
                audit.command, cwd=audit.folder, capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
            word, said = audit.judge(done.returncode, done.stdout), f"{done.stdout}{done.stderr}".strip()
        except (OSError, subprocess.TimeoutExpired) as error:
            word, said = NOT_ASKED, str(error)
        words.append(word)
        print(f"{audit.lock}: {word}")
        if word != NONE_KNOWN:
            print("\n".join(f"  {line}" for line in said.splitlines()[-40:]))
    if KNOWN in words:
        print("::error::audit: a dependency has a known vulnerability")
        return 1
    if NOT_ASKED in words:
        print(f"::error::audit: {words.count(NOT_ASKED)} of {len(words)} lock files {NOT_ASKED} about")
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
