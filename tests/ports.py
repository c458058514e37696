"""Ports for servers that a test starts: of the kernel's choice, and given to nobody else meanwhile."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """A port of the loopback address. A socket that doesn't listen holds it: the kernel gives it to no other that asks
    for any, and a server that asks for this one (with ``SO_REUSEADDR``, as nearly all do) gets it."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
