"""Results that earlier code made, and what ``verify`` finds of them today.

``PYTHONPATH=. .venv/bin/python -m tests.bundle.old_bundles`` writes ``old/expected.json`` anew: what can't be checked,
and entries of bundles that are new. A verdict that changed, or a difference, it refuses to record.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed.archive.kinds import kind_of
from testbed.archive.pack import DESCRIPTION
from testbed.archive.verify import unpacked, verify_bundle
from testbed.documents import read_json
from testbed.errors import BadInput
from testbed.study.verify import Verification

FOLDER = Path(__file__).parent / "old"
EXPECTED = FOLDER / "expected.json"
SIGNERS = FOLDER / "allowed_signers"
COMMAND = "PYTHONPATH=. .venv/bin/python -m tests.bundle.old_bundles"
NEVER_CHANGE = ("kind", "verdict", "differences", "signed", "refused")

Found = dict[str, Any]
"""Of a result: ``kind``, ``verdict``, ``differences`` and ``unchecked``; of a folder that is none, ``refused``."""


def files() -> list[Path]:
    """All that is kept."""
    return sorted(FOLDER.glob("*.zip"))


def is_bundle(file: Path) -> bool:
    """Whether it is a bundle; else it is a result folder of a kind that there are no bundles of."""
    with zipfile.ZipFile(file) as archive:
        return DESCRIPTION in archive.namelist()


@contextmanager
def opened(file: Path) -> Iterator[Path]:
    """The files of a bundle, or of a result folder, for a while."""
    if is_bundle(file):
        with unpacked(file) as place:
            yield place
        return
    with tempfile.TemporaryDirectory(prefix="ncp-old-") as folder, zipfile.ZipFile(file) as archive:
        archive.extractall(folder)
        yield Path(folder)


def found_today(file: Path) -> dict[str, Found]:
    """By the result's name; of a bundle also of the bundle itself."""
    with opened(file) as place:
        return _of_bundle(place) if is_bundle(file) else {"folder": _of_folder(place)}


def _of_bundle(place: Path) -> dict[str, Found]:
    signed = (place / "manifest-sha256.txt.sig").is_file()
    bundle, *results = verify_bundle(place, signers=SIGNERS if signed else None)
    found: dict[str, Found] = {"bundle": _told(bundle)}
    if signed:
        found["bundle"]["signed"] = [str(note) for note in bundle.notes if note.code.startswith("signature.")]
    for entry, verified in zip(read_json(place / DESCRIPTION)["runs"], results, strict=True):
        found[verified.name] = {"kind": kind_of(place / entry["path"]), "verdict": verified.verdict, **_told(verified)}
    return found


def _told(verified: Verification) -> Found:
    return {
        "differences": [str(said) for said in verified.differences],
        "unchecked": [str(said) for said in verified.unchecked],
    }


def _of_folder(folder: Path) -> Found:
    try:
        return {"kind": kind_of(folder)}
    except BadInput as error:
        return {"refused": error.message.removeprefix(f"{folder}: ").partition(":")[0]}


def complaints(recorded: Mapping[str, Found], found: Mapping[str, Found], *, never_only: bool = False) -> list[str]:
    """What is not as recorded, by result and key; ``never_only``: of what never changes."""
    told = [f"{name}: is not there" for name in recorded if name not in found]
    for name, one in found.items():
        if one.get("differences"):
            told.append(f"{name}: differences: {one['differences']}")
        if name not in recorded:
            told += [] if never_only else [f"{name}: is not recorded"]
            continue
        keys = sorted({*one, *recorded[name]})
        told += [
            f"{name}: {key}: {recorded[name].get(key)!r} is recorded, {one.get(key)!r} today"
            for key in keys
            if one.get(key) != recorded[name].get(key) and (key in NEVER_CHANGE or not never_only)
        ]
    return told


def expected() -> dict[str, dict[str, Found]]:
    """What is recorded, by the file's name."""
    return read_json(EXPECTED) if EXPECTED.is_file() else {}


def main() -> int:
    """Write :data:`EXPECTED`; returns the exit code, 1 where it is not written."""
    recorded = expected()
    found = {file.name: found_today(file) for file in files()}
    wrong = [
        f"{name}: {text}"
        for name, one in found.items()
        for text in complaints(recorded.get(name, {}), one, never_only=True)
    ]
    if wrong:
        print("Not written, as old results are no longer what they were:", *wrong, sep="\n")
        return 1
    EXPECTED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
