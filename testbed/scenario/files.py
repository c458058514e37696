"""Files of scenarios, tables and sweeps: found by name or path, distinguished and read, before any is checked.

Imports neither models nor what they import: listing the files is to take no longer than reading them.
"""

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import ScalarEvent

from testbed import confine, paths
from testbed.errors import BadInput
from testbed.message import unknown
from testbed.scenario import bounded

LINKS = "links"
"""Folder of the scenarios that show the features of a link."""
IN_PYTHON = ".py"
"""Suffixes of a scenario's file; tables and sweeps are YAML alone."""
TABLES = paths.SCENARIOS / "tables"
SWEEPS = paths.SCENARIOS / "sweeps"


def scenarios() -> list[Path]:
    """The scenario files that the testbed ships, by name."""
    return sorted(paths.SCENARIOS.glob("*.yaml"))


def links() -> list[Path]:
    """Scenarios that show the features of a link, one each."""
    return sorted((paths.SCENARIOS / LINKS).glob("*.yaml"))


def tables() -> list[Path]:
    """The table files that it ships, by name."""
    return sorted(TABLES.glob("*.yaml"))


def sweeps() -> list[Path]:
    """The sweep files that it ships, by name."""
    return sorted(SWEEPS.glob("*.yaml"))


def peers() -> list[Path]:
    """Scenarios and tables of other implementations, which are run by their paths."""
    return sorted(paths.CHECKOUT.glob("peers/**/*.yaml"))


def has_shipped_name(path: Path, name: str, shipped: Sequence[Path]) -> bool:
    """Whether a file that is not shipped names itself as one that is."""
    return path.resolve() not in shipped and name in {known.stem for known in shipped}


def is_path(name: str) -> bool:
    """Whether the user named a file, and not a scenario, table or sweep that is shipped."""
    return "/" in name or name.endswith((".yaml", ".yml", IN_PYTHON))


def is_table(name: str) -> bool:
    """Whether it is a table's name, or the path of a table file."""
    return _has_key(Path(name), "rows") if is_path(name) else (TABLES / f"{name}.yaml").is_file()


def is_sweep(name: str) -> bool:
    """Whether it is a sweep's name, or the path of a sweep file."""
    return _has_key(Path(name), "parameters") if is_path(name) else (SWEEPS / f"{name}.yaml").is_file()


def _has_key(path: Path, key: str) -> bool:
    """Whether a file looks like a mapping with such a key; :func:`read` reports its mistakes."""
    if path.suffix == IN_PYTHON:
        return False
    try:
        with path.open(errors="replace") as file:
            return bool(re.search(f"^{key}:", file.read(bounded.MOST_CHARACTERS), re.MULTILINE))
    except OSError:
        return False


def find(name: str, what: str, known: Sequence[Path]) -> Path:
    """The file of a ``what``, given the name of one that is shipped (``known``) or a path; raises :class:`BadInput`."""
    if is_path(name):
        path = Path(name)
        if not path.is_file():
            raise BadInput("scenario.no-file", f"{name}: there is no such {what} file")
        return confine.file(path, what)
    for path in known:
        if path.stem == name:
            return path
    names = [path.stem for path in known]
    raise BadInput.of(unknown("scenario.not-found", what, name, names), "./run.sh list describes them")


def read(path: Path) -> str:
    """A file's text; raises :class:`BadInput`."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(bounded.MOST_CHARACTERS + 1)  # one more is too much, and is reported
    except UnicodeDecodeError as error:
        raise BadInput("file.not-utf8", f"{path}: not UTF-8 text") from error
    except OSError as error:
        raise BadInput("file.not-readable", f"{path}: can't be read: {error.strerror}") from error


def heading(path: Path) -> dict[str, str]:
    """The plain values that a file begins with, up to its first section: name, title, source; raises BadInput.

    The rest is not read: parsing all of every file takes more than a second.
    """
    found: dict[str, str] = {}
    try:
        events = YAML(typ="safe", pure=True).parse(io.StringIO(read(path)))
        for key in events:
            if not isinstance(key, ScalarEvent):
                continue  # the stream, the document and its mapping begin
            value = next(events)
            if not isinstance(value, ScalarEvent):
                break
            found[key.value] = value.value
    except YAMLError as error:
        raise BadInput("file.not-yaml", f"{path}: not valid YAML") from error
    return found


SECONDS = paths.SCENARIOS / "seconds.json"


def transfer_seconds() -> dict[str, float]:
    """Seconds at the full rate of the links, by scenario; empty where there is no such file."""
    try:
        return dict(json.loads(SECONDS.read_bytes()))
    except (OSError, ValueError):
        return {}
