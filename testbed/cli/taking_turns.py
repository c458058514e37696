"""``sudo ./run.sh`` and ``./run.sh`` in one clone: what root makes there belongs to the clone's owner."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from testbed import paths

MADE = (".build", ".venv", "peers/npm-ncp/node_modules", "peers/ndn/node_modules", "results")
"""Folders that set-up, builds and runs make in a checkout."""


def give_to_the_owner(checkout: Path = paths.CHECKOUT) -> None:
    """Give root's files in another user's clone to that user, as root."""
    owner = checkout.stat()
    if os.geteuid() != 0 or owner.st_uid == 0:
        return
    for top in (checkout / name for name in MADE if (checkout / name).is_dir()):
        _give(top, owner)
        # By open folders: no link that is put in a folder's place meanwhile leads out of the checkout.
        for _, folders, files, opened in os.fwalk(top):
            for entry in (*folders, *files):
                _give(entry, owner, opened)


def _give(path: str | Path, owner: os.stat_result, folder: int | None = None) -> None:
    with suppress(OSError):  # it is gone again, or the disk is read-only
        found = os.stat(path, dir_fd=folder, follow_symlinks=False)
        if found.st_uid == 0:
            os.chown(path, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)
