"""Runs in the guest: the same links by both middles, measured in the same way. Prints JSON, by middle."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed import paths
from tests.netem.lab import Lab, flow, lab
from topologies.impairments.loss import GilbertElliott
from topologies.link import Impairments, Link, resolve_link
from topologies.live_change import Applied
from topologies.relay_middle import links_only_plan
from topologies.units import QueueLength, Rate

SAMPLES_MS = (0.0, 4.0, 12.0)
WIDE = Rate(bps=40e6)
"""Above what the flows send, so that only the middle delays them."""


def all_links(directory: Path) -> dict[str, Link]:
    """One link for each thing to be measured."""
    samples = directory / "samples.txt"
    samples.write_text("".join(f"{ms}\n" for ms in SAMPLES_MS))
    bursts: GilbertElliott = {"enter": 0.02, "leave": 0.25, "loss_good": 0.0, "loss_bad": 1.0}
    asked: dict[str, dict[str, Any]] = {
        "plain": {"rate": Rate(pps=512), "delay_ms": 20},
        "lossy": {"rate": Rate(pps=128), "delay_ms": 10, "loss": 0.05},
        "bursts": {"delay_ms": 5, "impairments": Impairments(gilbert_elliott=bursts)},
        "uniform": {"delay_ms": 20, "impairments": Impairments(jitter_ms=10)},
        "normal": {"delay_ms": 30, "impairments": Impairments(jitter_ms=5, jitter="normal", jitter_reorders=True)},
        "samples": {
            "delay_ms": 10,
            "impairments": Impairments(jitter="samples", jitter_file=str(samples), jitter_reorders=True),
        },
        "live": {"delay_ms": 20},
        "droptail": {"rate": Rate(pps=256), "delay_ms": 10, "queue": "droptail", "packets": 50},
        "drophead": {"rate": Rate(pps=512), "delay_ms": 10, "queue": "drophead", "packets": 50},
        "codel": {"rate": Rate(pps=512), "delay_ms": 10, "queue": "codel", "packets": 500},
        "rate": {"rate": Rate(pps=128), "delay_ms": 10, "queue": "droptail", "packets": 500},
    }
    links = {}
    for index, (name, a) in enumerate(asked.items(), start=1):
        links[name] = resolve_link(
            index,
            name,
            "h1",
            "h2",
            a.get("rate", WIDE),
            delay_ms=a["delay_ms"],
            loss=a.get("loss", 0.0),
            queue_mode=a.get("queue", "backpressure"),
            queue=QueueLength(packets=a.get("packets", 1000)),
            impairments=a.get("impairments", Impairments()),
        )
    return links


def probe(net: Lab, links: Sequence[Link], binary: Path, directory: Path) -> Any:
    """What the testbed's own probe finds of the links."""
    done = subprocess.run(
        [
            str(binary),
            "probe",
            "--plan",
            str(links_only_plan(directory, links)),
            "--seconds",
            "1.6",
            "--netns",
            f"h1={net.namespace('h1')}",
            "--netns",
            f"h2={net.namespace('h2')}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return {f"{m['link']} {m['direction']}": m for m in json.loads(done.stdout)["links"]}


def uncertainty_ms(applied: Applied) -> float:
    """Time between the bounds of a change's time."""
    return (applied.to_unix_ns - applied.from_unix_ns) / 1e6


def live(net: Lab, link: Link) -> dict[str, Any]:
    """Changes under a flow; the numbers are those of the packets before which they were made."""
    changes: dict[int, dict[str, Any]] = {
        250: {"delay_ms": 200.0},
        500: {"delay_ms": 20.0},
        1000: {"delay_ms": 0.0},
        1250: {"loss": 1.0},
        1500: {"loss": 0.0, "delay_ms": 10.0, "duplicate": 1.0},
        1750: {"duplicate": 0.0},
    }
    applied = {}

    def during(number: int) -> None:
        if number in changes:
            done = net.middle.change(link, "ab", changes[number])
            applied[number] = uncertainty_ms(done)

    packets = flow(net, link, 2000, 0.002, during=during)
    return {"packets": packets.as_json(), "uncertainty_ms": applied}


def plug(net: Lab, link: Link) -> dict[str, Any]:
    """Carrier down after a third of the packets and up after two thirds."""
    seen: dict[str, Any] = {}

    def carrier() -> list[bool]:
        shown = (net.in_host(host, "ip", "-j", "link", "show", f"{host}-eth{link['index']}") for host in ("h1", "h2"))
        return ["NO-CARRIER" not in json.loads(text)[0]["flags"] for text in shown]

    def during(number: int) -> None:
        if number == 200:
            time.sleep(0.1)  # what is under way arrives first
            seen["down_ms"] = uncertainty_ms(net.middle.carrier(link, up=False))
            time.sleep(0.1)
            seen["down"] = carrier()
        elif number == 400:
            seen["up_ms"] = uncertainty_ms(net.middle.carrier(link, up=True))
            time.sleep(0.2)
            seen["up"] = carrier()

    packets = flow(net, link, 600, 0.001, during=during)
    return {**seen, "packets": packets.as_json()}


def burst(net: Lab, link: Link, packets: int) -> dict[str, Any]:
    """Full-size frames as fast as they go, into the queue in the middle."""
    return flow(net, link, packets, 0.0, frame_bytes=link["frame_bytes"], settle_s=1.5).as_json()


def faster(net: Lab, link: Link) -> dict[str, Any]:
    """A queue of packets, and the rate four times as high once it drains."""
    changed_ns = []

    def during(number: int) -> None:
        if number == 151:
            changed_ns.append(net.middle.change(link, "ab", {"rate_bps": 4 * link["rate_bps"]}).to_unix_ns)

    packets = flow(net, link, 152, 0.0005, frame_bytes=link["frame_bytes"], during=during, settle_s=2.0)
    return {"changed_ns": changed_ns[0], "packets": packets.as_json()}


def ramp(net: Lab, link: Link) -> dict[str, Any]:
    """A saturated link whose rate changes by a little, over and over for two seconds."""
    changed_ns: list[int] = []

    def during(number: int) -> None:
        if number == 480:
            end = time.monotonic() + 2
            while time.monotonic() < end:
                more = 1.01 if len(changed_ns) % 2 else 1.0
                changed_ns.append(net.middle.change(link, "ab", {"rate_bps": more * link["rate_bps"]}).to_unix_ns)
                time.sleep(0.02)

    packets = flow(net, link, 481, 0.0005, frame_bytes=link["frame_bytes"], during=during, settle_s=0.1)
    return {"changed_ns": changed_ns, "packets": packets.as_json()}


def checksum_errors(net: Lab) -> int:
    """UDP packets with a bad checksum, and IP packets with a bad header, that h2 has refused."""
    found = 0
    tables: dict[str, list[str]] = {}
    for line in net.in_host("h2", "cat", "/proc/net/snmp").splitlines():
        protocol, *values = line.split()
        if protocol in tables:
            row = dict(zip(tables[protocol], values, strict=True))
            found += int(row.get("InCsumErrors", 0) if protocol == "Udp:" else row.get("InHdrErrors", 0))
        tables[protocol] = values
    return found


def measure(kind: str, links: dict[str, Link], binary: Path, directory: Path) -> dict[str, Any]:
    """Everything, by one middle."""
    begun = time.monotonic()

    def progress(what: str) -> None:
        print(f"{kind} {time.monotonic() - begun:.1f} s: {what}", file=sys.stderr, flush=True)

    with lab(kind, list(links.values()), binary) as net:
        found: dict[str, Any] = {"facts": net.middle.facts(), "tc": net.fabric.run(["tc", "-V"]).strip()}
        progress("probe")
        probed = [links[name] for name in ("plain", "lossy", "droptail")]
        found["probe"] = probe(net, probed, binary, directory)
        for name, packets, spacing_s in (
            ("bursts", 8000, 0.0007),
            ("uniform", 1500, 0.001),
            ("normal", 1500, 0.001),
            ("samples", 1500, 0.001),
        ):
            progress(name)
            found[name] = flow(net, links[name], packets, spacing_s).as_json()
        # Each on the same link in its turn, so that whatever does not go back to zero spoils the next.
        one = links["live"]
        for name in ("reorder", "duplicate", "corrupt"):
            progress(name)
            net.middle.change(one, "ab", {name: 0.1})
            before = checksum_errors(net)
            sent = flow(net, one, 1500, 0.001, frame_bytes=1000)
            found[name] = {**sent.as_json(), "refused": checksum_errors(net) - before}
            net.middle.change(one, "ab", {name: 0.0})
        net.middle.change(one, "ab", {"delay_ms": 100.0})
        progress("changes")
        found["live"] = live(net, one)
        found["plug"] = plug(net, links["plain"])
        progress("queues")
        found["droptail"] = burst(net, links["droptail"], 150)
        found["drophead"] = burst(net, links["drophead"], 150)
        codel = links["codel"]
        overload = flow(net, codel, 2400, 1 / 800, frame_bytes=codel["frame_bytes"], settle_s=1.5)
        found["codel"] = overload.as_json()
        progress("rates")
        found["faster"] = faster(net, links["rate"])
        net.middle.change(links["rate"], "ab", {"rate_bps": links["rate"]["rate_bps"]})
        found["ramp"] = ramp(net, links["rate"])
        progress("end")
    return found


def main() -> None:
    binary = paths.BINARIES / "ncp-link"
    with tempfile.TemporaryDirectory() as folder:
        links = all_links(Path(folder))
        found = {kind: measure(kind, links, binary, Path(folder)) for kind in ("netem", "relay")}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
