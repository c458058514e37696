"""Decides, and alone decides, which files and code of a result or a bundle this checkout reads and executes.

Whoever reads a result says so with :func:`to`. Until that is left, all that executes code, or opens a file that a
document names, asks here first: :func:`code` and :func:`file`. What a user names on the command line is no result's.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

from testbed import paths
from testbed.errors import BadInput

LOGS = "logs"
"""The part of a run's folder that nothing reads: a guest that was killed leaves links there."""
OWN_FILES = (paths.SCENARIOS, paths.CHECKOUT / "data" / "published")
"""This checkout's scenarios with their traces and topologies, and figures."""


@dataclass(frozen=True)
class _Confined:
    folders: tuple[Path, ...]
    trust_code: bool
    trust_diff: bool
    own: tuple[Path, ...]


_now: ContextVar[_Confined | None] = ContextVar("confined", default=None)


@contextmanager
def to(*folders: Path, trust_code: bool = False, trust_diff: bool = False) -> Iterator[None]:
    """Confine documents, until it is left, to files in ``folders`` and this checkout's own. Only the latter are
    executed; with ``trust_code`` also Python in ``folders``, unprivileged and without network; and with ``trust_diff``
    programs of a commit with a result's diff, with the user's rights.

    Inside another one, the folders are added to those of that one, which decides what is trusted.
    """
    before = _now.get() or _Confined((), trust_code, trust_diff, OWN_FILES)
    token = _now.set(replace(before, folders=(*before.folders, *map(_real, folders))))
    try:
        yield
    finally:
        _now.reset(token)


def to_results(*folders: Path, **trusted: bool) -> AbstractContextManager[None]:
    """Confine documents as :func:`to`, after refusing result folders with a link that leads out (:class:`BadInput`)."""
    for folder in folders:
        refuse_links(folder)
    return to(*folders, **trusted)


def file(path: Path, where: str) -> Path:
    """The path of a file that a document names at ``where``; BadInput where a result may not have it read."""
    confined = _now.get()
    if confined is not None and not _is_in(path, [*confined.folders, *confined.own]):
        raise BadInput("result.outside", f"{where}: {path} is outside of the result, and is not read for it")
    return path


def code(path: Path, where: str) -> bool:
    """Whether Python in a file has to be executed unprivileged; BadInput where a result may not have it executed."""
    confined = _now.get()
    if confined is None or _is_in(path, confined.own):
        return False
    if not confined.trust_code:
        raise BadInput(
            "result.brings-code",
            f"{where}: {path.name} is Python that comes with a result, and is not executed",
            "With verify --trust-code it is, without rights and without network.",
        )
    file(path, where)
    return True


def diff(what: str) -> None:
    """Raise :class:`BadInput` where a result may not have programs of ``what``, with its diff, built and run."""
    if (confined := _now.get()) is not None and not confined.trust_diff:
        raise BadInput("diff.not-trusted", f"needs {what}, which only --trust-diff builds and runs")


def is_of_result(path: Path) -> bool:
    """Whether a file is read for a result, or is in the folder of one: an earlier version may have written it."""
    marks = (path.parent / name for name in ("plan.json", "study.json", "table.json"))
    return _now.get() is not None or any(map(Path.is_file, marks))


def add_own(folder: Path) -> None:
    """Count a folder of this checkout's history to its own until the innermost :func:`to` is left."""
    if (confined := _now.get()) is not None:
        _now.set(replace(confined, own=(*confined.own, _real(folder))))


def may_execute(path: Path) -> bool:
    """Whether :func:`code` would let Python in a file be executed."""
    try:
        code(path, "")
    except BadInput:
        return False
    return True


def program(where: str) -> None:
    """Raise :class:`BadInput` where a result would have a program looked for or started, whatever is trusted."""
    if _now.get() is not None:
        raise BadInput("result.program", f"{where}: a program is not with the results, and is not run for them")


def inside(folder: Path, *names: str | Path) -> Path:
    """A place below a result folder by the names in its documents; BadInput for one that is not below it. A folder in
    which a page is drawn again has links to the result's own files."""
    place = folder.joinpath(*names)
    confined = _now.get()
    is_below = Path(os.path.normpath(place)).is_relative_to(os.path.normpath(folder))
    if not is_below or not _is_in(place, [_real(folder), *(confined.folders if confined else ())]):
        raise BadInput("result.leads-out", f"{folder}: {Path(*names)} leads out of the result")
    return place


def refuse_links(folder: Path) -> None:
    """Raise :class:`BadInput` for a symbolic link that leads out of a result folder: through it others would be read,
    or written."""
    root = _real(folder)
    for place, folders, files in os.walk(root):
        if LOGS in folders:
            folders.remove(LOGS)
        for name in (*folders, *files):
            path = Path(place, name)
            if path.is_symlink() and not _is_in(path, [root]):
                raise BadInput(
                    "result.link-leads-out", f"{path}: is a link that leads out of the result, to {path.readlink()}"
                )


def _is_in(path: Path, folders: Sequence[Path]) -> bool:
    found = _real(path)
    return any(found.is_relative_to(folder) for folder in folders)


def _real(path: Path) -> Path:
    """A path without links; unlike ``resolve()`` of Python before 3.13 it takes links to themselves."""
    return Path(os.path.realpath(path))
