"""A study's result folder: its id, ``latest``, and the document by which a study that was stopped goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed import confine
from testbed.documents import write_json
from testbed.errors import BadInput
from testbed.planning.resolve import new_run_id
from testbed.results.folder import make_latest
from testbed.runtime.progress import Progress
from testbed.study.part import PartMade


def begin(base: Path, document: str, identity: Mapping[str, Any], resume: str = "", **beside: Any) -> Path:
    """The result folder in ``base``: a new one, whose name is the study's id, or that of the study to go on with.

    ``document`` is the file that says what was asked: ``identity``, which has to be the same to go on, and ``beside``.
    Raises :class:`BadInput` where there is no such study, or it was asked for something else.
    """
    asked = json.loads(json.dumps(identity))
    if resume:
        return _go_on(base, document, asked, resume)
    folder = base / new_run_id()
    folder.mkdir(parents=True)
    write_json(folder / document, {**asked, **beside})
    make_latest(folder)
    return folder


def is_plain_name(text: str) -> bool:
    """Whether it is the name of a folder inside another one, and leads nowhere else."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text) is not None


def _go_on(base: Path, document: str, asked: Mapping[str, Any], resume: str) -> Path:
    if not is_plain_name(resume):
        raise BadInput(
            "resume.bad-id",
            "--resume {resume}: should be a study's id, or latest: a folder in {base}",
            resume=_short(resume),
            base=base,
        )
    folder = (base / resume).resolve()
    if not (folder / document).is_file():
        raise BadInput(
            "resume.no-such-result",
            "--resume {resume}: {folder} is not a result folder of {base}: it has no {document}",
            resume=resume,
            folder=folder,
            base=base.name,
            document=document,
        )
    confine.inside(base, resume)
    confine.refuse_links(folder)
    before = json.loads((folder / document).read_text())
    for key, value in asked.items():
        if before.get(key) != value:
            raise BadInput(
                "resume.other-options",
                "--resume {resume}: that one was begun with another value of {key} ({before}, not {value}); give "
                "the same options, or start a new one",
                resume=resume,
                key=key,
                before=_short(before.get(key)),
                value=_short(value),
            )
    return folder


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 80 else text[:77] + "…"


@contextmanager
def kept_when_stopped(progress: Progress, how_to_go_on: str) -> Iterator[None]:
    """Whatever ends a study early, what is finished of it is kept; the user is told how to go on."""
    try:
        yield
    except PartMade:
        raise
    except BaseException:
        progress.say(f"stopped; what is finished is kept. {how_to_go_on}")
        raise
