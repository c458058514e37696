"""Reads documents: what a program wrote, and figures that were published."""

import csv
import hashlib
import json
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Any

from pydantic import GetPydanticSchema, ValidationError

from testbed.errors import BadInput

MOST_FILES, MOST_FOLDER_BYTES = 20_000, 512 << 20
PASSED_OVER = frozenset({"__pycache__", ".git"})
"""Folders that are no part of a program."""


def entry_of(kind: type, **further: Any) -> GetPydanticSchema:
    """Says of a ``dict[str, Any]`` in a document's type that it is the dictionary of a (frozen) dataclass or a model,
    with ``further`` keys, by which its JSON Schema is made: ``Annotated[dict[str, Any], entry_of(Outcome)]``."""
    if further:
        keys = [(name, of, field()) for name, of in further.items()]  # a property of that name is no default
        more = {"__doc__": kind.__doc__}
        kind = make_dataclass(kind.__name__, keys, bases=(kind,), namespace=more, frozen=True, kw_only=True)
    return GetPydanticSchema(lambda _, schema_of: schema_of(kind))


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; BadInput says what is wrong."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput("file.not-in-result", f"{path}: there is no such file; a result folder has one") from None
    except (ValueError, RecursionError) as error:
        raise BadInput("result.not-json", f"{path}: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadInput("file.not-an-object", f"{path}: should be a JSON object")
    return document


def explain(error: ValidationError) -> str:
    """The first thing that is wrong with a document: where, what is there, and what is wrong with it."""
    first = error.errors()[0]
    there = "" if first["type"] == "missing" else f"{first['input']!r:.80}: "
    return f"{'.'.join(map(str, first['loc'])) or 'the document'}: {there}{first['msg']}"


def label(item: Any, number: int) -> str:
    """The name of a list's item, or its number from 1."""
    return str((isinstance(item, dict) and item.get("name")) or number)


def named(document: Any, loc: Sequence[int | str]) -> list[str]:
    """The place of a mistake in a document as its author knows it: items of lists by their labels. The member of a
    union, which pydantic names as well, is no part of it."""
    steps: list[str] = []
    for step in loc:
        if isinstance(document, list) and isinstance(step, int) and step < len(document):
            document = document[step]
            steps.append(label(document, step + 1))
        elif isinstance(document, dict) and step in document:
            document = document[step]
            steps.append(str(step))
        elif isinstance(document, dict) and step not in [document.get(key) for key in ("judge", "kind", "do")]:
            document = None  # a key that is missing
            steps.append(str(step))
    return steps


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file by its head, without lines that begin with ``#``; BadInput says what is wrong."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(line for line in file if not line.startswith("#")))
    except FileNotFoundError:
        raise BadInput("file.not-in-result", f"{path}: there is no such file; a result folder has one") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise BadInput("file.not-csv", f"{path}: not CSV: {error}") from error


def write_csv(
    path: Path, rows: Sequence[Mapping[str, Any]], head: Collection[str] = (), line_end: str = "\r\n"
) -> None:
    """A CSV file with the columns of ``head``, by default those of the first row; rows may have further keys, which
    are left out."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, head or rows[0], extrasaction="ignore", lineterminator=line_end)
        writer.writeheader()
        writer.writerows(rows)


def write_json(path: Path, document: Any) -> None:
    """A JSON file, whole or not at all."""
    temporary = path.with_suffix(path.suffix + ".new")
    temporary.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.rename(path)


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """An empty folder that becomes ``folder`` with all that is put into it, or is removed where that fails."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as scratch:
        made = Path(scratch, "made")
        made.mkdir()
        yield made
        made.chmod(0o755)
        made.rename(folder)


def digest(folder: Path, where: str) -> str:
    """SHA-256 over names, modes and contents of the files: a run is another one where the program is."""
    found = hashlib.sha256()
    total = 0
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    own = (path for path in files if not PASSED_OVER & {*path.relative_to(folder).parts})
    for number, path in enumerate(own):
        total += path.stat().st_size
        if number >= MOST_FILES or total > MOST_FOLDER_BYTES:
            raise BadInput(
                "program.folder-too-large",
                f"{where}: {folder} has more than {MOST_FILES:,} files or {MOST_FOLDER_BYTES >> 20} MiB; give the "
                "program a folder of its own",
            )
        mode = "x" if path.stat().st_mode & 0o100 else "-"
        found.update(f"{path.relative_to(folder)}\0{mode}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()
