"""The diff of a checkout that had changes in no commit: a result keeps it, so that another checkout can have the same
sources again."""

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.errors import BadInput
from testbed.judge.history import answer, commit_of, git, here

FILE = "uncommitted.diff"
KEY = "uncommitted_diff"
"""Entry in ``provenance.json``: ``sha256``, and the names of changed sources that are ``left_out``."""
FOLDERS = ("cmd", "collectors", "internal", "ncp-agent", "ndn-agent", "schemas", "testbed", "topologies")
"""The folders of the sources that a run is made by; the diff is of nothing else."""
LARGEST_BYTES = 1 << 20
_PLACE = rf"(?:{'|'.join(FOLDERS)})(?:/[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*)+"
_HEADER = re.compile(
    rf"diff --git a/(?P<place>{_PLACE}) b/(?P=place)|index [0-9a-f]+\.\.[0-9a-f]+(?: 100(?:644|755))?"
    r"|(?:new file|deleted file|old|new) mode 100(?:644|755)"
)
"""A line before a file's changed lines: of ordinary files alone, which keep their names."""
_FORM = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/")


@cache
def of_checkout() -> dict[str, Any]:
    """The entry of a result that is made now, with the ``text`` of the diff; empty without one. What is no text, a
    link, or too large is left out; new files that git ignores are no changes. Read once in a process."""
    new = _names("ls-files", "--others", "--exclude-standard", "-z", "--", *FOLDERS)
    found, left_out = "", []
    for name in sorted({*_names("diff", "--name-only", "--no-renames", "-z", "HEAD", "--", *FOLDERS, "go.*"), *new}):
        against = ("--no-index", "--", "/dev/null") if name in new else ("HEAD", "--")
        part = git(*_FORM, *against, name).stdout.decode(errors="replace")
        if _is_plain(part) and len(found) + len(part) <= LARGEST_BYTES:
            found += part
        else:
            left_out.append(name)
    digest = hashlib.sha256(found.encode()).hexdigest()
    return {"sha256": digest, "left_out": left_out, "text": found} if found else {}


def _names(*command: str) -> list[str]:
    return [name for name in (answer(*command) or b"").decode(errors="replace").split("\0") if name]


def _is_plain(diff: str) -> bool:
    """Whether it changes nothing but text in ordinary files of the sources, by git's own headers."""
    lines = [line for line in diff.split("\n") if line[:1] not in ("", " ", "+", "-", "\\", "@")]
    return diff.startswith("diff --git ") and "\ufffd" not in diff and all(map(_HEADER.fullmatch, lines))


def kept(folder: Path, recorded: Mapping[str, Any]) -> str:
    """The diff that a result keeps, empty for none; BadInput where it is not the recorded one, or reaches elsewhere."""
    if not (entry := recorded.get(KEY)):
        return ""
    file = folder / FILE
    diff = file.read_bytes() if file.is_file() else b""
    if not isinstance(entry, dict) or hashlib.sha256(diff).hexdigest() != entry.get("sha256"):
        raise BadInput("diff.changed", f"{FILE}: its SHA-256 is not that of provenance.json")
    if len(diff) > LARGEST_BYTES or not _is_plain(text := diff.decode(errors="replace")):
        raise BadInput("diff.not-of-sources", f"{FILE}: changes more than text in the sources; nothing of it is used")
    return text


def is_ours(diff: str, recorded: Mapping[str, Any]) -> bool:
    """Whether this checkout is at the recorded commit with the same diff."""
    return commit_of(recorded) == here()["commit"] and of_checkout().get("text") == diff


def apply(diff: str, tree: Path) -> None:
    """Apply it to a commit's files, which are in a folder below the checkout; BadInput where it does not fit."""
    place, patch = tree.relative_to(paths.CHECKOUT).as_posix(), tree.with_name(FILE)
    patch.write_text(diff, encoding="utf-8", newline="")
    of_git = ("apply", "--whitespace=nowarn", f"--directory={place}", str(patch))
    listed = [line.rpartition("\t")[2] for line in _names(*of_git, "--numstat", "-z")]  # as git reads it
    if not all(re.fullmatch(rf"{re.escape(place)}/{_PLACE}", name) for name in listed or [""]):
        raise BadInput("diff.not-of-sources", f"{FILE}: changes more than text in the sources; nothing of it is used")
    if git(*of_git).returncode:
        raise BadInput("diff.of-another-commit", f"{FILE}: is of another commit: it does not apply to the recorded one")
