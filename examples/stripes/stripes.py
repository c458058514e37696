"""Stripes a transfer over all links: a TCP connection over each, and a block goes to whichever takes it first."""

# ruff: noqa: B905, PTH123 (short for a reader)

import hashlib
import json
import os
import socket
import sys
import threading
import time

ROLE, IN, OUT, PORT = (os.environ[name] for name in ("ROLE", "IN", "OUT", "PORT"))
LINKS = list(zip(os.environ["LOCAL"].split(","), os.environ["REMOTE"].split(",")))
BLOCK = 16384


def send(data):
    offsets, lock = iter(range(0, len(data), BLOCK)), threading.Lock()

    def over(local, remote):
        with socket.create_connection((remote, int(PORT)), source_address=(local, 0)) as link:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * BLOCK)
            while (offset := take(offsets, lock)) is not None:
                link.sendall(offset.to_bytes(8, "big") + data[offset : offset + BLOCK])
            link.shutdown(socket.SHUT_WR)
            link.recv(1)  # until the receiver has read it all

    on_each(over)


def receive(data):
    listening = {local: socket.create_server((local, int(PORT))) for local, _ in LINKS}
    open(f"{OUT}/ready", "w").close()

    def over(local, _):
        with listening[local].accept()[0].makefile("rb") as link:
            while header := link.read(8):
                offset = int.from_bytes(header, "big")
                data[offset : offset + BLOCK] = link.read(min(BLOCK, len(data) - offset))

    on_each(over)


def take(offsets, lock):
    with lock:
        return next(offsets, None)


def on_each(over):
    threads = [threading.Thread(target=over, args=link) for link in LINKS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if os.environ["TESTCASE"] != "transfer":
    sys.exit(127)  # sending for a time is not supported
started = time.time_ns()
if ROLE == "sender":
    with open(f"{IN}/payload", "rb") as file:
        payload = file.read()
    send(payload)
else:
    payload = bytearray(int(os.environ["BYTES"]))
    receive(payload)
result = {"bytes": len(payload), "sha256": hashlib.sha256(payload).hexdigest()}
result |= {"started_unix_ns": started, "finished_unix_ns": time.time_ns()}
with open(f"{OUT}/result.json", "w") as file:
    json.dump(result, file)
