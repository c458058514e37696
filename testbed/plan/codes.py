"""Implementations of NCP at the ends of a session: this project's agent, npm's packages as they are published, and
users' own."""

import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema

from testbed import confine, paths
from testbed.documents import PASSED_OVER, digest
from testbed.errors import BadInput
from testbed.message import InvalidValue, unknown
from testbed.plan.model import Plan, Policy, Session

OURS = "ours"
CODES = (OURS, "npm-1.0.9", "npm-1.1.2")
NPM = CODES[1:]
PEER = "peers/npm-ncp"
FOLDER = paths.CHECKOUT / PEER
"""The packages, as its lock file pins them, and ``agent.js``, which runs them in place of ``ncp-agent``."""


@cache
def policies() -> Mapping[str, Policy]:
    """Facts of the packages' windows; ``like`` is the agent's policy whose rule they have."""
    found: list[Policy] = json.loads((FOLDER / "policies.json").read_text())
    return {facts["name"]: facts for facts in found}


def others(plan: Plan) -> set[str]:
    """The codes of a plan's ends that are not ours."""
    return {code for session in plan["sessions"] for code in session.get("code", {}).values()}


def rule_of(session: Session) -> str:
    """The agent's policy by whose rule a session's windows move, under whatever name."""
    return session.get("policy_facts", {}).get("like", session["policy"])


def is_about(policies: Collection[str], session: Session) -> bool:
    """Whether what is about these policies (none: all) is about a session."""
    return not policies or session["policy"] in policies or rule_of(session) in policies


OWN = re.compile(r"[a-z0-9][a-z0-9.-]{0,31}@[0-9a-f]{12}")
"""Name of a user's own code: that of its file or folder, and the beginning of a digest of all that it is."""
KEPT = paths.CHECKOUT / ".build" / "codes"
"""Copies of users' codes by these names, which runs are made with: what is built anew meanwhile is another code."""
KEYS = re.compile(r"(ncp\.)?code(\.(sender|receiver))?")
"""Keys of what changes a scenario that may have the path of a code."""
PROGRAM, PACKAGE = "ncp-agent", "package.json"
"""Names in a copy: the executable, or a file of each Node package."""


def known(code: str) -> str:
    """A code that there is, or a path, which is read where a user gives it."""
    if code not in CODES and not is_own(code) and "/" not in code:
        raise InvalidValue.of(unknown("ncp.no-such-code", "code", code, (*CODES, "./PATH of your own")))
    return code


_KINDS = [{"enum": list(CODES)}, {"type": "string", "pattern": "[/@]"}]
Code = Annotated[str, AfterValidator(known), WithJsonSchema({"anyOf": _KINDS})]


def is_own(code: str) -> bool:
    """Whether it is a user's."""
    return OWN.fullmatch(code) is not None


def files_of(code: str) -> tuple[Path | None, Path | None]:
    """The adapter's folder, if Node runs the code, and the user's own: with the adapter a package, else a program."""
    if not is_own(code):
        return (None if code == OURS else FOLDER), None
    folder = KEPT / code
    return (FOLDER, folder) if (folder / PACKAGE).is_file() else (None, folder / PROGRAM)


def is_kept(code: str) -> bool:
    """Whether the copy of a user's code is there, as its name says."""
    return is_own(code) and (KEPT / code).is_dir() and digest(KEPT / code, code).startswith(code[-12:])


def keep_in(values: Any, file: Path, where: str) -> bool:
    """Put the names of kept codes in place of their paths, relative to the ``file``, in its section ``ncp`` or in what
    changes a scenario; returns whether there are any. Of a result nothing is kept."""
    before = {**values} if isinstance(values, dict) and not confine.is_of_result(file) else {}
    for key, value in before.items():
        if KEYS.fullmatch(str(key)):
            values[key] = with_kept(value, file.parent, where)
    return any(values[key] != value for key, value in before.items())


def with_kept(value: Any, base: Path, where: str) -> Any:
    """A value of ``ncp.code``, which is at ``where``, with the name of a kept code in place of each path."""
    if isinstance(value, dict):
        return {role: with_kept(code, base, where) for role, code in value.items()}
    return _keep((base / value).resolve(), where) if isinstance(value, str) and "/" in value else value


def _keep(path: Path, where: str) -> str:
    """Copy a user's code, as it is now; returns its name. Raises :class:`BadInput` for what can't be one."""
    confine.program(where)
    if why := _why_unfit(path):
        raise BadInput("code.unfit", f"{where}: {path} {why}; name an executable, or the folder of a Node package")
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT, prefix=".new-") as scratch:
        made = Path(scratch, "made")
        try:
            if path.is_dir():
                digest(path, where)  # one that is too large is not copied
                shutil.copytree(path, made, ignore=shutil.ignore_patterns(*PASSED_OVER), ignore_dangling_symlinks=True)
            else:
                made.mkdir()
                shutil.copy(path, made / PROGRAM)
        except (OSError, shutil.Error) as error:
            raise BadInput("code.not-readable", f"{where}: {path} can't be copied: {error}") from error
        for each in (made, *made.rglob("*")):  # for the agents' user
            mode = each.stat().st_mode & 0o777
            each.chmod(mode | (0o555 if mode & 0o100 else 0o444))
        name = re.sub(r"[^a-z0-9.]+", "-", path.name.lower()).strip("-.")[:32] or "code"
        kept = KEPT / f"{name}@{digest(made, where)[:12]}"
        with suppress(OSError):  # it is there
            made.rename(kept)
    return kept.name


def _why_unfit(path: Path) -> str:
    """The reason why something is neither a program of this machine nor a Node package; "" for either."""
    if path.is_dir():
        with suppress(OSError, ValueError, AttributeError, TypeError):
            main = path / json.loads((path / PACKAGE).read_text()).get("main", "index.js")
            if any(each.is_file() for each in (main, Path(f"{main}.js"), main / "index.js")):
                return ""
        return "has no package.json whose main is there (built?)"
    if not os.access(path, os.R_OK | os.X_OK):
        return "is not executable (chmod +x)" if path.exists() else "is not there"
    its, here = (file.read_bytes()[:20] for file in (path, Path("/proc/self/exe")))
    fits = its.startswith(b"#!") or (its[:4], its[18:]) == (here[:4], here[18:])
    return "" if fits else f"is neither an ELF for {platform.machine()} nor a script that begins with #!"
