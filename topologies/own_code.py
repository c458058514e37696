"""Python of the user's own, which root carries out only where nobody else could have written it."""

import os
import stat
from pathlib import Path


def who_else_may_write(file: Path) -> str:
    """The reason, with what to do, why root is not to carry out a file: it and its folder have to be root's, the
    caller's or the checkout's owner's, and nobody else may write them. "" where nothing speaks against it.

    Whoever may write the file, or put another in its place, could do as root whatever they like.
    """
    if os.geteuid() != 0:
        return ""
    file = file.resolve()
    users, groups = ({0, int(os.environ.get(name, "0"))} for name in ("SUDO_UID", "SUDO_GID"))
    users.add(Path(__file__).stat().st_uid)  # whose code root carries out already
    for path in (file, file.parent):
        try:
            found = path.stat()
        except OSError:
            return ""  # reported where it is read
        if found.st_uid not in users:
            owner = "root's or yours" if len(users) > 1 else "root's"
            return (
                f"{path} belongs to user {found.st_uid}, and root would carry out what is in the file; only a file and "
                f"a folder that are {owner} are used: chown them, or copy the file to a folder of root's"
            )
        others = found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and found.st_gid not in groups)
        if others:
            return (
                f"{path} may be written by others (mode {stat.S_IMODE(found.st_mode):o}), and root would carry out "
                f"what is in the file: chmod go-w {path}"
            )
    return ""
