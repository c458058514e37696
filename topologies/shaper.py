"""The rate and the queue at a host's own egress: a full queue pushes back on the sender's socket.

HTB with one class, not TBF: a change of TBF's rate fills its bucket, so a ramp of many steps would exceed its rates.
Standard library only.
"""

from topologies.link import Link
from topologies.units import whole_bps

ROOT_HANDLE, CLASS_HANDLE = 0x10000, 0x10001
"""``1:``, the HTB, and ``1:1``, its class that has the rate."""
LARGEST_FRAME_BYTES = 1514


def rate_class(rate_bps: float, burst_bytes: int, frame_bytes: int) -> dict[str, str]:
    """Options of the class for a rate and a bucket.

    HTB sends while its tokens are not negative, a token bucket while they are enough for the frame; with a frame
    less in the bucket that is the same for full-size frames.
    """
    burst = str(max(burst_bytes - frame_bytes, 1))
    rate = f"{whole_bps(rate_bps)}bit"
    return {
        "rate": rate,
        "ceil": rate,
        "burst": burst,
        "cburst": burst,
        "quantum": str(max(frame_bytes, LARGEST_FRAME_BYTES)),
    }


def in_words(options: dict[str, str]) -> str:
    """Options as ``tc`` takes them."""
    return " ".join(f"{name} {value}" for name, value in options.items())


def limit_bytes(link: Link) -> int:
    """Bytes that may wait for the rate: more than a socket may queue, so that the socket blocks first."""
    return 2 * link["queue"]["packets"] * link["frame_bytes"] + (1 << 20)


def commands(link: Link, interface: str) -> list[str]:
    """Lines of ``tc`` that shape an interface of a host."""
    options = rate_class(link["rate_bps"], link["burst_bytes"], link["frame_bytes"])
    return [
        f"qdisc add dev {interface} root handle 1: htb default 1",
        f"class add dev {interface} parent 1: classid 1:1 htb {in_words(options)}",
        f"qdisc add dev {interface} parent 1:1 handle 10: bfifo limit {limit_bytes(link)}",
    ]
