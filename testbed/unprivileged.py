"""Calls a program as a user without rights, without network, with nothing of this machine that it could write to."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence

from testbed.errors import CannotRun

USER = 65532
"""The user and group without rights, of agents as well."""
RIGHTS = (f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs", "--inh-caps=-all")
"""Options of setpriv for that user."""
WRITABLE_BY_ANYBODY = ("/", "/home", "/var", "/tmp", "/var/tmp", "/run", "/run/lock", "/dev/mqueue", "/dev/shm")
"""Places where a machine may have a file system of its own in which any user can write."""
MOST_ANSWER_BYTES = 1 << 20
_LIMITS = (f"--fsize={MOST_ANSWER_BYTES}", "--nproc=512", "--nofile=256", "--core=0")
_NAMESPACES = ("--mount", "--net", "--ipc", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")
_NEEDED = ("unshare", "setpriv", "prlimit", "mount", "mountpoint")
_READ_ONLY = (
    f"for at in {' '.join(WRITABLE_BY_ANYBODY)}; do "
    'mountpoint -q "$at" && { mount -o remount,bind,ro "$at" || exit 1; }; done; '
    'mount -t tmpfs -o ro,size=4k tmpfs /run || exit 1; exec "$@"'
)
"""Makes those read-only, and hides ``/run``, where the sockets of this machine's services are."""


def call(
    command: Sequence[str], given: str, environment: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """The exit code and the stdout of a command (UTF-8, :data:`MOST_ANSWER_BYTES` at most) with the stdin ``given``;
    its stderr is lost. All that it starts ends with it.

    Raises:
        CannotRun: only root can give up rights, and this is another user; or a program for that is not installed.
        subprocess.TimeoutExpired: it has not ended in time.
    """
    if os.geteuid() != 0:
        raise CannotRun(
            "verify.no-rights-to-give-up",
            "without root no program can be executed with fewer rights than yours",
            "Leave out --trust-code, or use sudo.",
        )
    if missing := [name for name in _NEEDED if shutil.which(name) is None]:
        raise CannotRun(
            "verify.no-confinement", f"{missing[0]} is not installed, to take rights away", "See ./run.sh doctor."
        )
    whole = ["unshare", *_NAMESPACES, "--", "sh", "-c", _READ_ONLY, "sh", "prlimit", *_LIMITS, "--"]
    whole += ["setpriv", *RIGHTS, "--bounding-set=-all", "--", *command]
    with tempfile.TemporaryFile() as answer:
        done = subprocess.run(
            whole,
            input=given.encode(),
            stdout=answer,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath, "PYTHONIOENCODING": "utf-8", **environment},
            cwd="/",
            timeout=timeout_s,
            start_new_session=True,
            check=False,
        )
        answer.seek(0)
        return subprocess.CompletedProcess(whole, done.returncode, answer.read().decode(errors="replace"))
