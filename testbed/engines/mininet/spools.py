"""Telemetry as it is being written: what was appended to its files since one last looked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


class Spools:
    """A file of line protocol that grows, or a folder with such files, which may come and go."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._read: dict[Path, int] = {}

    def new_lines(self) -> Iterator[list[str]]:
        """Of each file, what was appended since the last call, up to the last line that is whole."""
        files = sorted(self._place.glob("**/*.lp")) if self._place.is_dir() else [self._place]
        for path in files:
            yield self._whole_lines(path)

    def _whole_lines(self, path: Path) -> list[str]:
        try:
            with path.open("rb") as spool:
                spool.seek(self._read.get(path, 0))
                new = spool.read()
        except FileNotFoundError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._read[path] = self._read.get(path, 0) + len(whole)
        return whole.decode().splitlines()
