"""Checks a bundle: its checksums, and every verdict and plot in it from its raw data."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from testbed.bundle.kinds import Verified, kind_of, runs_in, verify_folder
from testbed.bundle.pack import CRATE, DESCRIPTION, MANIFEST, SCHEMA
from testbed.checks.verify import NOT_RECORDED, read_json
from testbed.errors import BadInput
from testbed.report.pages import write_page

WORDING = re.compile(r"(?:^|[.\]]|: )(?:reason|reasons\[\d+\]|summary|why): ")
"""How a difference begins that is one of a text for people."""
LARGEST_BYTES = 64 * 2**30
NEEDED = (DESCRIPTION, MANIFEST, CRATE)


def is_bundle(path: Path) -> bool:
    """Whether it is a file that may be a bundle."""
    return path.is_file() and zipfile.is_zipfile(path)


@contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """The bundle's files in a folder that is gone afterwards; BadInput for what is no bundle, or one of a newer
    schema."""
    try:
        with tempfile.TemporaryDirectory(prefix="ncp-bundle-") as place, zipfile.ZipFile(file) as archive:
            _refuse(file, archive, Path(place))
            archive.extractall(place)
            _schema(file, Path(place))
            yield Path(place)
    except (zipfile.BadZipFile, EOFError) as error:
        raise BadInput(f"{file}: is damaged: {error}") from error


def _refuse(file: Path, archive: zipfile.ZipFile, place: Path) -> None:
    names = archive.namelist()
    for name in names:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or names.count(name) > 1:
            raise BadInput(f"{file}: {name!r} is no name of a file in a bundle")
    for needed in NEEDED:
        if needed not in names:
            raise BadInput(f"{file}: is no bundle: it has no {needed}")
    size = sum(info.file_size for info in archive.infolist())
    free = shutil.disk_usage(place).free
    if size > min(LARGEST_BYTES, free):
        raise BadInput(
            f"{file}: has {size / 2**30:.1f} GiB in it; {free / 2**30:.1f} GiB are free in {place.parent}"
        )


def _schema(file: Path, place: Path) -> None:
    schema = read_json(place / DESCRIPTION).get("schema")
    if not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        raise BadInput(
            f"{file}: {DESCRIPTION}: schema: {schema!r}; this checkout reads 1 to {SCHEMA}",
            "A newer checkout reads it.",
        )


def verify_bundle(place: Path) -> list[Verified]:
    """Each of the bundle's result folders, judged again, and before them the bundle itself."""
    description = read_json(place / DESCRIPTION)
    found = [_sums(place)]
    for run in description["runs"]:
        folder = place / run["path"]
        if not folder.is_dir():
            raise BadInput(f"{DESCRIPTION}: runs: {run['path']}: there is no such folder in the bundle")
        verified = verify_folder(folder)
        if str(run["verdict"]) != verified.verdict and run["kind"] != "comparison":
            verified.differences.append(
                f"{DESCRIPTION}: {run['path']}: verdict {run['verdict']!r}, {verified.verdict!r} by the data"
            )
        _plots(folder, verified)
        found.append(_of_its_time(verified))
    return found


def _of_its_time(verified: Verified) -> Verified:
    """A bundle may be older than the checkout: that the same is said in other words, or that more is told now, is no
    difference. Numbers, statuses and verdicts are."""
    said = [text for text in verified.differences if WORDING.search(text) or f": {NOT_RECORDED}, " in text]
    if not said:
        return verified
    rest = [text for text in verified.differences if text not in said]
    note = f"{len(said)} texts or entries are not as this checkout would write them, e.g. {said[0][:200]}"
    return replace(verified, differences=rest, notes=[*verified.notes, note])


def _sums(place: Path) -> Verified:
    """Every file against its checksum."""
    listed: dict[str, str] = {}
    for number, line in enumerate((place / MANIFEST).read_text(encoding="utf-8").splitlines(), start=1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name:
            raise BadInput(f"{MANIFEST}, line {number}: should be a SHA-256, two spaces and a file's name")
        listed[name] = digest
    there = {
        path.relative_to(place).as_posix(): path
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
    differences = [f"{name}: is listed in {MANIFEST}, but not there" for name in listed if name not in there]
    for name, path in there.items():
        if name not in listed:
            differences.append(f"{name}: is not listed in {MANIFEST}")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != listed[name]:
            differences.append(f"{name}: was changed: its SHA-256 is not that of {MANIFEST}")
    return Verified("bundle", f"{len(there)} files", differences, [], [])


def _plots(folder: Path, verified: Verified) -> None:
    """Draw the plots again, and add to the differences where one is not the same.

    Of a plot drawn by another matplotlib only its presence is compared.
    """
    import matplotlib as mpl

    drawn = 0
    for part in _with_reports(folder):
        before = {path.name: path.read_bytes() for path in sorted((part / "plots").glob("*.svg"))}
        if not before:
            continue
        by = _matplotlib(part)
        write_page(part)
        after = {path.name: path.read_bytes() for path in sorted((part / "plots").glob("*.svg"))}
        drawn += len(after)
        where = "" if part == folder else f"{part.relative_to(folder)}: "
        for name in {**before, **after}:
            if before.get(name) == after.get(name):
                continue
            if name in before and name in after and by not in ("", mpl.__version__):
                verified.notes.append(
                    f"{where}plots/{name}: drawn by matplotlib {by}, {mpl.__version__} here: not compared"
                )
            else:
                verified.differences.append(f"{where}plots/{name}: is not what the data give")
    if drawn:
        verified.notes.append(f"{drawn} plots were drawn again")


def _with_reports(folder: Path) -> Iterator[Path]:
    """The folder itself, and the runs in it, where this checkout can draw their plots from the folder alone."""
    kind = kind_of(folder)
    if kind in ("run", "table"):
        yield folder
    if kind == "claims":
        from testbed.claims.verify import runs_of

        yield folder
        for _, run in runs_of(folder):
            yield from _with_reports(run)
    elif kind != "run":
        yield from runs_in(folder)


def _matplotlib(folder: Path) -> str:
    """The version that the folder's plots were drawn by; empty where that is not known."""
    for run in runs_in(folder):
        path = run / "provenance.json"
        if path.is_file():
            packages: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")).get("packages", {})
            return str(packages.get("matplotlib", ""))
    return ""
