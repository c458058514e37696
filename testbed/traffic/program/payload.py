"""The payload of a session: bytes that nothing makes shorter, the same for the same seed."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

from testbed.plan.model import Session

BLOCK_BYTES = 1 << 20
REPEATED_BYTES = 1_048_573
"""The file of a session that sends for a time, again and again: a prime, so that no block of a program's is as long."""


def file_bytes(session: Session) -> int:
    """Largest file of the sender."""
    return session.get("transfer_bytes", REPEATED_BYTES)


def write_payload(session: Session, file: Path) -> None:
    """The sender's file."""
    with file.open("wb") as out:
        for block in _blocks(session):
            out.write(block)


def sha256_of(session: Session, count: int) -> str:
    """SHA-256 of the first ``count`` bytes that are sent: the file, or the file again and again."""
    whole = b"".join(_blocks(session))
    times, rest = divmod(count, len(whole))
    found = hashlib.sha256()
    for _ in range(times):
        found.update(whole)
    found.update(whole[:rest])
    return found.hexdigest()


def _blocks(session: Session) -> Iterator[bytes]:
    chance = random.Random(f"payload {session['payload_seed']}")
    left = file_bytes(session)
    while left:
        size = min(left, BLOCK_BYTES)
        yield chance.randbytes(size)
        left -= size
