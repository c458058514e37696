"""Exit codes of the command line, and the verdicts that some of them stand for."""

from collections.abc import Mapping
from enum import IntEnum


class Exit(IntEnum):
    """The exit code of a command."""

    PASS = 0
    FAIL = 1
    BAD_INPUT = 2
    UNTRUSTED = 3
    INCOMPLETE = 3
    """The code of ``verify`` where nothing differs, and something could not be checked."""
    CANNOT_RUN = 4
    INTERRUPTED = 130
    """128 + SIGINT, as shells have it; also after SIGTERM and SIGHUP."""


OF_VERDICT: Mapping[str, Exit] = {"pass": Exit.PASS, "fail": Exit.FAIL, "untrusted": Exit.UNTRUSTED}
