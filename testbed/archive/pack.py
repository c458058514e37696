"""Makes a bundle: result folders, what they came from, and a list of checksums, in one zip file."""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from typing_extensions import TypedDict

from testbed import paths
from testbed.archive.kinds import Kind, kind_of, runs_in
from testbed.archive.signature import MANIFEST, SIGNATURE, sign
from testbed.documents import read_json
from testbed.errors import BadInput
from testbed.judge.history import provenance_of
from testbed.judge.status import current_comparison, verdict_of
from testbed.study.checks import better
from testbed.study.kinds.same_bytes import verdict_over
from testbed.study.report.text import words_of

SCHEMA: Literal[1] = 1
DESCRIPTION, CRATE = "bundle.json", "ro-crate-metadata.json"
SOURCES = (
    "LICENSE",
    "CITATION.cff",
    "data/published/claims.yaml",
    "pyproject.toml",
    "uv.lock",
    "go.mod",
    "go.sum",
    "docker-compose.yml",
    "images/*/Dockerfile",
    "peers/npm-ncp/package-lock.json",
)
"""Lock files, and licences of the code's dependencies, as far as the checkout has them."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""Every entry's time in the archive, so that the same results make the same bytes."""


class Entry(TypedDict):
    """A result in ``bundle.json``."""

    path: str
    kind: Kind
    name: str
    verdict: str
    commit: str
    images: list[str]
    written: str | None
    single_runs: int


class Description(TypedDict):
    """``bundle.json``."""

    schema: Literal[1]
    runs: list[Entry]


def pack(folders: Sequence[Path], file: Path, key: Path | None = None) -> Description:
    """Write the bundle, whole or not at all, and sign it with a ``key``, if one is given; returns its ``bundle.json``.

    Raises BadInput for what is no result folder, and where two would have one place.
    """
    runs = [entry(folder) for folder in folders]
    places = [run["path"] for run in runs]
    if twice := {place for place in places if places.count(place) > 1}:
        raise BadInput("bundle.folder-twice", f"{twice.pop()} would be in the bundle twice; name each folder once")
    files = {place: source for folder, run in zip(folders, runs, strict=True) for place, source in _files(folder, run)}
    files |= dict(_sources())
    digests = {place: (source, sha256(source)) for place, source in sorted(files.items())}
    description: Description = {"schema": SCHEMA, "runs": runs}
    written: dict[str, bytes] = {DESCRIPTION: _json(description)}
    from testbed.archive.crate import metadata

    written[CRATE] = _json(metadata(digests, runs))
    sums = {place: digest for place, (_, digest) in digests.items()}
    sums |= {place: hashlib.sha256(data).hexdigest() for place, data in written.items()}
    written[MANIFEST] = "".join(f"{sums[place]}  {place}\n" for place in sorted(sums)).encode()
    if key is not None:
        written[SIGNATURE] = sign(written[MANIFEST], key)
    _write(file, files, written)
    return description


def _write(file: Path, files: Mapping[str, Path], written: Mapping[str, bytes]) -> None:
    temporary = file.with_name(file.name + ".new")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for place, data in sorted(written.items()):
                archive.writestr(_info(place), data)
            for place, source in sorted(files.items()):
                with source.open("rb") as data_in, archive.open(_info(place, source), "w") as data_out:
                    shutil.copyfileobj(data_in, data_out, 1 << 20)
        temporary.replace(file)
    except OSError as error:
        raise BadInput("file.not-writable", f"{file}: can't be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _info(place: str, source: Path | None = None) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(place, EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o100644 << 16
    if source is not None:
        info.file_size = source.stat().st_size  # so that more than 4 GiB is foreseen
    return info


def entry(folder: Path) -> Entry:
    """A result folder's in ``bundle.json``."""
    folder = folder.resolve()
    kind = kind_of(folder)
    provenances = [provenance_of(run) for run in runs_in(folder)]
    images = sorted({str(p["agent_image"]) for p in provenances if p.get("agent_image")})
    commits = sorted({str(p["commit"]) for p in provenances if p.get("commit")})
    scenario, verdict = _what(folder, kind)
    return {
        "path": f"runs/{scenario}/{folder.name}",
        "kind": kind,
        "name": f"{scenario} {folder.name}",
        "verdict": verdict,
        "commit": ", ".join(commits),
        "images": images,
        "written": max((str(p["written"]) for p in provenances if p.get("written")), default=None),
        "single_runs": len(provenances),
    }


def _what(folder: Path, kind: str) -> tuple[str, str]:
    """The scenario's name, and the verdict."""
    if kind == "comparison":
        document = current_comparison(read_json(folder / "compare.json"), better.SCHEMA)
        return "compare", ", ".join(words_of(document["statuses"], document["directions"]).values())
    if kind == "cross-check":
        scenarios = read_json(folder / "cross-check.json")["scenarios"]
        return kind, verdict_of([entry["verdict"] for entry in scenarios])
    if kind == "repetitions":
        hashes = json.loads((folder / "hashes.json").read_text(encoding="utf-8"))
        return "repeatable", verdict_over(entry["holds"] for entry in hashes)
    if kind == "claims":
        return "all", str(read_json(folder / "claims.json")["verdict"])
    document = read_json(folder / "verdict.json")
    return str(document["scenario"]), str(document["verdict"])


def _files(folder: Path, run: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """Regular files only: links lead out of the folder, or to what is in it anyway."""
    root = folder.resolve()
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.resolve() == path:
            yield f"{run['path']}/{path.relative_to(root).as_posix()}", path


def _sources() -> Iterator[tuple[str, Path]]:
    for pattern in SOURCES:
        for path in sorted(paths.CHECKOUT.glob(pattern)):
            place = path.relative_to(paths.CHECKOUT)
            if "node_modules" not in place.parts:
                yield ("LICENSE" if place.name == "LICENSE" else f"source/{place.as_posix()}"), path


def sha256(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
        return digest.hexdigest()


def _json(document: Any) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
