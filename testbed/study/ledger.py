"""A study's result folder: its id, ``latest``, the document by which it is resumed, and the ledger of its runs."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from testbed import confine
from testbed.documents import read_json, write_json
from testbed.engines.provenance import code
from testbed.errors import BadInput
from testbed.judge.verify import differences
from testbed.message import Message
from testbed.planning.resolve import new_run_id
from testbed.results import make_latest
from testbed.study.record import RunRecord, read_record

STUDY, LEDGER = "study.json", "runs.jsonl"
SWEEP_REQUEST = "asked.json"
OLD_REQUESTS = ("matrix.json", SWEEP_REQUEST, "all.json", "repeatable.json")
"""Documents of what was requested, before there was ``study.json``. Such studies are read, verified and compared, and
not resumed."""
OLD_MARKS = {
    "matrix.json": "table",
    "sweep.yaml": "sweep",
    "compare.json": "comparison",
    "cross-check.json": "cross-check",
    "hashes.json": "repetitions",
    "claims.json": "claims",
}
"""Documents by which the kind of such a study is known."""
NOT_IN_FOLDERS = {"sha256", "took_s"}
"""Keys of a line that are not in its run's folder."""
SCHEMA: Literal[1] = 1


class Ledger:
    """Every attempt of a study, a line of JSON each: appended with one write, on the disk before the next run begins.
    A line that a stop has cut off is none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Iterator[RunRecord]:
        """Lines in the order of their writing."""
        if not self.path.is_file():
            return
        for line in self.path.read_bytes().splitlines():
            try:
                yield RunRecord.model_validate_json(line)
            except ValidationError:
                continue

    def append(self, records: Iterable[RunRecord]) -> None:
        """Each becomes a line."""
        text = "".join(record.model_dump_json(exclude_defaults=True) + "\n" for record in records)
        if not text:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b", buffering=0) as file:
            cut_off = file.tell() and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n"
            file.write((("\n" if cut_off else "") + text).encode())
            os.fsync(file)


def begin(base: Path, kind: str, identity: Mapping[str, Any], resume: str = "", **beside: Any) -> Path:
    """The result folder in ``base``: a new one, whose name is the study's id, or that of the study to resume.

    ``study.json`` says what was requested: ``identity``, which determines the runs and has to be the same to resume,
    and ``beside``. Raises :class:`BadInput` where there is no such study, or it was begun with other options.
    """
    request = json.loads(json.dumps(identity))
    if resume:
        return _resume(base, request, resume)
    folder = base / new_run_id()
    folder.mkdir(parents=True)
    write_study(folder, kind, request, **beside)
    make_latest(folder)
    return folder


def write_study(folder: Path, kind: str, identity: Mapping[str, Any], **beside: Any) -> None:
    """``study.json``."""
    write_json(folder / STUDY, {"schema": SCHEMA, "kind": kind, "identity": identity, **beside})


def extend(folder: Path, cells: Iterable[str]) -> None:
    """Add ``cells`` to the ``further`` ones of ``study.json``, which were requested by what the first ones showed."""
    document = read_json(folder / STUDY)
    write_json(folder / STUDY, {**document, "further": [*document.get("further", []), *cells]})


def request_of(folder: Path) -> dict[str, Any]:
    """The request of a study, by its ``study.json`` or an older document; BadInput where it has none."""
    name = next((name for name in (STUDY, *OLD_REQUESTS) if (folder / name).is_file()), STUDY)
    document = read_json(folder / name)
    if name != STUDY:
        return document
    return {**document["identity"], **{k: v for k, v in document.items() if k not in ("schema", "kind", "identity")}}


def kind_of(folder: Path) -> str:
    """The kind of a result folder's study, by its ``study.json`` or the documents of earlier versions; "" where neither
    has it."""
    if (folder / STUDY).is_file():
        return str(read_json(folder / STUDY).get("kind"))
    return next((kind for name, kind in OLD_MARKS.items() if (folder / name).is_file()), "")


def differences_of(folder: Path) -> Iterator[Message]:
    """Differences between the lines of a study's ledger and the folders of their runs; the last line of a run counts. A
    line by other code is not compared: whoever resumes reads the folder anew."""
    lines = {(line.cell, line.run): line for line in Ledger(folder / LEDGER).read() if line.rules == code()}
    for line in lines.values():
        if not line.folder:
            continue
        run = confine.inside(folder, line.folder)
        if (run / "verdict.json").is_file():
            again = read_record(run, folder, line.cell)
            recorded = line.model_dump(mode="json", exclude=NOT_IN_FOLDERS)
            yield from differences(
                f"{LEDGER}: {line.folder}", recorded, again and again.model_dump(mode="json", exclude=NOT_IN_FOLDERS)
            )
        elif not line.sha256:
            yield Message("ledger.no-run", f"{LEDGER}: {line.folder} is not there")


def is_plain_name(text: str) -> bool:
    """Whether it is the name of a folder inside another one, and leads nowhere else."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text) is not None


def _resume(base: Path, request: Mapping[str, Any], resume: str) -> Path:
    if not is_plain_name(resume):
        raise BadInput(
            "resume.bad-id", f"--resume {_short(resume)}: should be a study's id, or latest: a folder in {base}"
        )
    folder = (base / resume).resolve()
    if not (folder / STUDY).is_file():
        if older := [name for name in OLD_REQUESTS if (folder / name).is_file()]:
            raise BadInput(
                "resume.older-version",
                f"--resume {resume}: {folder} was made by an earlier version, which has {older[0]} and no study.json: "
                "it can be verified, and not resumed; start a new one",
            )
        raise BadInput(
            "resume.no-such-result",
            f"--resume {resume}: {folder} is not a result folder of {base.name}: it has no {STUDY}",
        )
    confine.inside(base, resume)
    confine.refuse_links(folder)
    before = read_json(folder / STUDY)["identity"]
    for key, value in request.items():
        if before.get(key) != value:
            raise BadInput(
                "resume.other-options",
                f"--resume {resume}: that one was begun with another value of {key} ({_short(before.get(key))}, not "
                f"{_short(value)}); give the same options, or start a new one",
            )
    return folder


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 80 else text[:77] + "…"
