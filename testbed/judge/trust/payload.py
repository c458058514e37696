"""Digests of the bytes that an NCP session was to carry, made by neither of its ends.

A sender draws its bytes from the plan's seed (``internal/payload``), and tells their SHA-256. A receiver tells that of
what it got, which it might have copied, and a checksum that no sender makes. Both are made here once more.
"""

import zlib
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from testbed.judge.trust.counts import Ends
from testbed.message import Message

CHUNK = bytes(1 << 18)


@lru_cache(maxsize=64)
def digests(seed: int, session: str, size: int) -> tuple[str, int]:
    """SHA-256 in hexadecimal and CRC-32 of a session's stream: AES-128 in counter mode, the key and the first counter
    from the SHA-256 of ``seed/session``."""
    key = sha256(f"{seed}/{session}".encode()).digest()
    stream = Cipher(algorithms.AES128(key[:16]), modes.CTR(key[16:])).encryptor()
    whole, crc32 = sha256(), 0
    for at in range(0, size, len(CHUNK)):
        part = stream.update(CHUNK[: size - at])
        whole.update(part)
        crc32 = zlib.crc32(part, crc32)
    return whole.hexdigest(), crc32


def violations(ends: Ends) -> Iterator[Message]:
    """A sender's digest that is not that of the plan's bytes, or a receiver's that is, though it got others. Receivers
    of earlier releases and other implementations tell no CRC-32, and are not judged."""
    sent, got = ends.sender, ends.receiver
    if "crc32" not in got or {sent.get("bytes"), got.get("bytes")} != {ends.session["transfer_bytes"]}:
        return  # `payload_intact` tells of other numbers of bytes
    sha, crc32 = digests(ends.plan["seed"], ends.name, got["bytes"])
    if sent.get("sha256") != sha:
        yield Message(
            "payload.not-the-plans", "its sender's SHA-256 is not that of the bytes that the plan's seed gives"
        )
    if got.get("sha256") == sha and got["crc32"] != crc32:
        yield Message(
            "payload.digest-copied",
            f"its receiver tells the SHA-256 of the plan's bytes, and got others: CRC-32 {got['crc32']:08x}, not "
            f"{crc32:08x}",
        )
