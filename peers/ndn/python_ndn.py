"""python-ndn as consumer or producer of one object, as ndn-agent's ``get`` and ``put`` are.

    python python_ndn.py get --face udp://HOST:PORT|tcp://HOST:PORT NAME
    python python_ndn.py put --face … [--register] --bytes N [--seed N] [--segment-bytes 4400] NAME

``put`` prints ``ready``, serves until SIGTERM or SIGINT, and then prints its report; ``get`` prints its report when it
has all. The package is used as published; only its public interface is called.
"""

import argparse
import asyncio
import hashlib
import json
import random
import re
import signal
import time
from importlib.metadata import version
from typing import Any

from ndn.app import NDNApp
from ndn.encoding import Component, LpTypeNumber, MetaInfo, Name, parse_lp_packet_v2
from ndn.security import KeychainDigest
from ndn.transport.stream_face import TcpFace
from ndn.transport.udp_face import UdpFace
from ndn.types import InterestTimeout

IN_FLIGHT = 16
"""Interests at a time: python-ndn's own segment fetcher sends one after the other, and reacts to nothing."""
LIFETIME_MS = 1000
TRIES = 10


class Peer:
    """An application of python-ndn on one face, with the marks that reach it counted."""

    def __init__(self, uri: str) -> None:
        transport, host, port = re.fullmatch(r"(udp|tcp)://([^:]+):(\d+)", uri).groups()  # type: ignore[union-attr]
        face = (UdpFace if transport == "udp" else TcpFace)(host, int(port))
        self.app = NDNApp(face=face, keychain=KeychainDigest())
        self.interests = self.timeouts = self.marks = 0
        receive = face.callback

        async def counted(kind: int, wire: bytes) -> None:
            # python-ndn takes marked packets, but does not tell of the mark.
            if kind == LpTypeNumber.LP_PACKET and parse_lp_packet_v2(wire, with_tl=True).congestion_mark:
                self.marks += 1
            await receive(kind, wire)

        face.callback = counted

    async def segment(self, name: list[Any], *, can_be_prefix: bool = False) -> tuple[Any, MetaInfo, bytes]:
        for _ in range(TRIES):
            self.interests += 1
            try:
                found: tuple[Any, MetaInfo, bytes] = await self.app.express_interest(
                    name, can_be_prefix=can_be_prefix, must_be_fresh=can_be_prefix, lifetime=LIFETIME_MS
                )
                return found
            except InterestTimeout:
                self.timeouts += 1
        raise InterestTimeout(f"no Data for {Name.to_str(name)} after {TRIES} Interests")

    async def get(self, prefix: str) -> dict[str, Any]:
        began_s = time.monotonic()
        # Whatever segment answers tells the name with its version, and the last segment's number.
        name, meta, _ = await self.segment(Name.from_str(prefix), can_be_prefix=True)
        base = list(name[:-1])
        if meta.final_block_id is None:
            raise ValueError(f"{Name.to_str(name)} has no FinalBlockId")
        last = Component.to_number(meta.final_block_id)
        contents: dict[int, bytes] = {}
        numbers = iter(range(last + 1))

        async def worker() -> None:
            for number in numbers:
                _, _, content = await self.segment([*base, Component.from_segment(number)])
                contents[number] = bytes(content)

        await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
        duration_s = time.monotonic() - began_s
        whole = b"".join(contents[number] for number in range(last + 1))
        return {
            "bytes": len(whole),
            "segments": last + 1,
            "sha256": hashlib.sha256(whole).hexdigest(),
            "duration_s": duration_s,
            "goodput_bps": len(whole) * 8 / duration_s,
            "marks": self.marks,
            "retransmissions": self.interests - 1 - (last + 1),
            "timeouts": self.timeouts,
        }

    async def put(self, prefix: str, content: bytes, segment_bytes: int, *, register: bool) -> dict[str, Any]:
        parts = [content[at : at + segment_bytes] for at in range(0, len(content), segment_bytes)]
        last = Component.from_segment(len(parts) - 1)
        base = Name.from_str(prefix)

        def answer(name: list[Any], _parameters: Any, _application: Any) -> None:
            self.interests += 1
            number = Component.to_number(name[-1]) if len(name) > len(base) else 0
            if number < len(parts):
                self.app.put_data(
                    [*base, Component.from_segment(number)], parts[number], freshness_period=10_000, final_block_id=last
                )

        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        if not register:
            self.app.set_interest_filter(base, answer)
        elif not await self.app.register(base, answer):
            raise ConnectionError(f"the forwarder did not register {prefix}")
        print("ready", flush=True)
        await stop.wait()
        return {
            "bytes": len(content),
            "segments": len(parts),
            "sha256": hashlib.sha256(content).hexdigest(),
            "interests": self.interests,
        }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="python-ndn as consumer or producer of one object.")
    parser.add_argument("role", choices=["get", "put"])
    parser.add_argument("name")
    parser.add_argument("--face", required=True)
    parser.add_argument("--register", action="store_true")
    parser.add_argument("--bytes", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--segment-bytes", type=int, default=4400)
    asked = parser.parse_args()
    if not re.fullmatch(r"(udp|tcp)://[^:]+:\d+", asked.face):
        parser.error(f"--face {asked.face}: want udp://HOST:PORT or tcp://HOST:PORT")
    if asked.role == "put" and (asked.bytes is None or asked.bytes <= 0 or asked.segment_bytes <= 0):
        parser.error("put needs --bytes, and --segment-bytes above 0")
    return asked


def main() -> None:
    asked = arguments()
    peer = Peer(asked.face)
    found: dict[str, Any] = {"implementation": f"python-ndn {version('python-ndn')}", "role": asked.role}

    async def work() -> None:
        try:
            if asked.role == "get":
                found.update(await peer.get(asked.name))
            else:
                content = random.Random(asked.seed).randbytes(asked.bytes)
                found.update(await peer.put(asked.name, content, asked.segment_bytes, register=asked.register))
        finally:
            peer.app.shutdown()

    peer.app.run_forever(after_start=work())
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
