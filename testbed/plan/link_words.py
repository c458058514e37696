"""Properties of a link in words, for terminals and pictures alike."""

from topologies.impairments import NUMBERS
from topologies.impairments.impairment import SHARE
from topologies.link import Link, rate_pps


def bits_per_second(value: float) -> str:
    """``8.79 Mbit/s``."""
    for limit, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if abs(value) >= limit:
            return f"{value / limit:.4g} {unit}"
    return f"{value:.4g} bit/s"


def rate(link: Link, unit: str = " packets/s") -> str:
    """The rate as the scenario has it: in full-size packets or in bits, whichever of the two is the round number."""
    if link.get("trace_file"):
        return "rate by a trace"
    pps = rate_pps(link)
    return f"{pps:g}{unit}" if pps == round(pps, 2) else bits_per_second(link["rate_bps"])


def delay(link: Link) -> str:
    """One way."""
    return f"{link['delay_ms']:g} ms"


def impairments(link: Link) -> list[str]:
    """The link's other impairments of packets."""
    found = [f"loss {_percent(link['loss'])}"] if link["loss"] else []
    if bursts := link.get("gilbert_elliott"):
        found.append(f"bursts of loss {_percent(bursts['enter'])}/{_percent(bursts['leave'])}")
    if jitter_ms := link.get("jitter_ms"):
        found.append(f"jitter {jitter_ms:g} ms")
    elif "jitter_file" in link:
        found.append("jitter by a file")
    for key, impairment in NUMBERS.items():
        if value := link.get(key):
            found.append(f"{key} {_percent(value) if impairment.written is SHARE else value}")  # type: ignore[arg-type]
    return found


def _percent(share: float) -> str:
    return f"{share * 100:g}%"
