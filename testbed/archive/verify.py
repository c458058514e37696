"""Checks a bundle: its checksums, and every verdict and plot in it from its raw data."""

import json
import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from testbed.archive import provenance_check, signature
from testbed.archive.kinds import verify_folders
from testbed.archive.pack import CRATE, DESCRIPTION, SCHEMA, entry, sha256
from testbed.archive.signature import MANIFEST, SIGNATURE
from testbed.documents import read_json
from testbed.errors import BadInput, of_the_machine
from testbed.judge.verify import differences
from testbed.message import Messages
from testbed.study.verify import Verification

LARGEST_BYTES = 64 * 2**30
MOST_FILES = 100_000
MOST_TIMES_PACKED = 100
"""Text of a run's telemetry is packed to a tenth or so."""
NEEDED = (DESCRIPTION, MANIFEST, CRATE)


def is_bundle(path: Path) -> bool:
    """Whether it is a file that may be a bundle."""
    return path.is_file() and zipfile.is_zipfile(path)


@contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """The bundle's files in a folder that is gone afterwards; BadInput for what is no bundle, or one of a newer
    schema."""
    with tempfile.TemporaryDirectory(prefix="ncp-bundle-") as place:
        _unpack(file, Path(place))
        _described(file, Path(place))
        yield Path(place)


def _unpack(file: Path, place: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            _refuse(file, archive, place)
            archive.extractall(place)
    except Exception as error:  # zipfile and what it unpacks with have many for a file that is not as it should be
        if isinstance(error, BadInput) or of_the_machine(error):
            raise
        raise BadInput("bundle.damaged", f"{file}: is damaged: {error or type(error).__name__}") from error


def _refuse(file: Path, archive: zipfile.ZipFile, place: Path) -> None:
    names = Counter(archive.namelist())
    if len(names) > MOST_FILES:
        raise BadInput("bundle.too-many-files", f"{file}: has {len(names)} files in it; {MOST_FILES} at most")
    for name, times in names.items():
        if not _is_inside(name) or times > 1:
            raise BadInput("bundle.bad-name", f"{file}: {name!r} is not a valid name for a file in a bundle")
    for needed in NEEDED:
        if needed not in names:
            raise BadInput("bundle.not-a-bundle", f"{file}: is not a bundle: it has no {needed}")
    size = sum(info.file_size for info in archive.infolist())
    packed = sum(info.compress_size for info in archive.infolist())
    if size > max(MOST_TIMES_PACKED * packed, 16 << 20):
        raise BadInput(
            "bundle.grows-too-much", f"{file}: would unpack to {size / packed:.0f} times its size; no result would"
        )
    free = shutil.disk_usage(place).free
    if size > min(LARGEST_BYTES, free):
        raise BadInput(
            "bundle.no-space", f"{file}: has {size / 2**30:.1f} GiB; {free / 2**30:.1f} GiB are free in {place.parent}"
        )


def _is_inside(name: str) -> bool:
    """Whether a name is that of something inside the bundle, whichever system reads it."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in name


def _described(file: Path, place: Path) -> None:
    """Refuse descriptions of a kind that this code can't read."""
    description = read_json(place / DESCRIPTION)
    schema, runs = description.get("schema"), description.get("runs")
    if not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        raise BadInput(
            "bundle.newer-schema",
            f"{file}: {DESCRIPTION}: schema: {schema!r}; this checkout reads 1 to {SCHEMA}",
            "A newer checkout reads it.",
        )
    if not isinstance(runs, list) or not all(
        isinstance(run, dict) and isinstance(run.get("path"), str) for run in runs
    ):
        raise BadInput(
            "bundle.no-list-of-results", f"{file}: {DESCRIPTION}: runs: should be results, each with its path"
        )


def verify_bundle(
    place: Path, *, rerun: bool = False, signers: Path | None = None, **trusted: bool
) -> list[Verification]:
    """Each of the bundle's result folders, judged again, and before them the bundle itself."""
    description = read_json(place / DESCRIPTION)
    bundle = _sums(place)
    signature.check(place, bundle, signers)
    runs = description["runs"]
    for run in runs:
        if not _is_inside(run["path"]):
            raise BadInput("bundle.not-a-result", f"{DESCRIPTION}: runs: {run['path']!r} is not a folder in the bundle")
        if not (place / run["path"]).is_dir():
            raise BadInput("bundle.no-such-folder", f"{DESCRIPTION}: runs: {run['path']}: there is no such folder")
    _nothing_else(place, [run["path"] for run in runs], bundle)
    found = verify_folders([place / run["path"] for run in runs], rerun=rerun, **trusted)
    for run in runs:
        again = entry(place / run["path"])
        bundle.differences.extend(differences(f"{DESCRIPTION}: {run['path']}", run, again))
    _crate(place, description["runs"], bundle)
    return [bundle, *found]


def _nothing_else(place: Path, listed: list[str], bundle: Verification) -> None:
    """There is something to confirm, and no result that the bundle keeps quiet about."""
    if not listed:
        bundle.differences.add_message("bundle.nothing-to-confirm", f"{DESCRIPTION}: runs: has nothing to confirm")
    for name in _files(place):
        if name.startswith("runs/") and not any(name.startswith(f"{path}/") for path in listed):
            bundle.differences.add_message("bundle.of-no-result", f"{name}: is of no result in {DESCRIPTION}")
        elif not name.startswith(("runs/", "source/")) and name not in (*NEEDED, "LICENSE"):
            bundle.notes.add_message("verify.stray-file", f"{name}: no step makes it; nothing of it was checked")


def _crate(place: Path, runs: list[dict[str, Any]], bundle: Verification) -> None:
    """Compare the bundle's description for other tools with a new one."""
    from testbed.archive.crate import metadata

    parts = [read_json(path) for path in place.glob("runs/**/provenance.json")]
    if not parts or not all(provenance_check.of_this_code(part) for part in parts):
        bundle.unchecked.add_message("crate.by-other-code", f"{CRATE}: it was written by other code")
        return
    files = {name: (path, sha256(path)) for name, path in _files(place).items() if name not in (DESCRIPTION, CRATE)}
    again = json.loads(json.dumps(metadata(files, runs)))
    bundle.differences.extend(differences(CRATE, read_json(place / CRATE), again))


def _files(place: Path) -> dict[str, Path]:
    """All that checksums are of, by place, in the order of the places as text: as they were packed."""
    every = {path.relative_to(place).as_posix(): path for path in place.rglob("*") if path.is_file()}
    return {name: path for name, path in sorted(every.items()) if name not in (MANIFEST, SIGNATURE)}


def _sums(place: Path) -> Verification:
    """Every file against its checksum."""
    listed: dict[str, str] = {}
    for number, line in enumerate((place / MANIFEST).read_text(encoding="utf-8").splitlines(), start=1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name:
            raise BadInput(
                "bundle.bad-manifest-line", f"{MANIFEST}, line {number}: should be SHA-256, two spaces, a file's name"
            )
        listed[name] = digest
    there = _files(place)
    found = Messages()
    for name in listed:
        if name not in there:
            found.add_message("bundle.file-missing", f"{name}: is listed in {MANIFEST}, but not there")
    for name, path in there.items():
        if name not in listed:
            found.add_message("bundle.file-not-listed", f"{name}: is not listed in {MANIFEST}")
        elif sha256(path) != listed[name]:
            found.add_message("bundle.file-changed", f"{name}: was changed: its SHA-256 is not that of {MANIFEST}")
    return Verification("bundle", f"{len(there)} files", found)
