"""Files that a link names, of delivery opportunities or of jitter: numbers, a line each. What reads them, here and in
Go (``internal/plan/files.go``), refuses the same files."""

import stat
from pathlib import Path

LARGEST_BYTES = 8 << 20
"""About twenty minutes of a mahimahi trace with an opportunity each millisecond."""


def why_unfit(path: Path) -> str | None:
    """The reason why it is no such file, in words; None if it may be read. Nothing is opened: reading a device, a FIFO
    or a kernel's pseudo file may block for ever."""
    try:
        found = path.stat()
    except OSError as error:
        return f"{error.strerror}; want a file of numbers, one per line"
    if not stat.S_ISREG(found.st_mode):
        return "it is no ordinary file; want a file of numbers, one per line"
    if not 0 < found.st_size <= LARGEST_BYTES:
        return f"{found.st_size} bytes; want numbers, one per line, 1 to {LARGEST_BYTES} bytes"
    return None
