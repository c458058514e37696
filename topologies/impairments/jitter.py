"""``jitter``: something is added to each frame's delay, drawn from a distribution or from a file of samples."""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Literal

from topologies.impairments.impairment import Asked, DelayMs, Impairment
from topologies.link_files import why_unfit
from topologies.typed_dict import TypedDict
from topologies.units import LONGEST_DELAY_MS

TABLE_SAMPLES = 16000
"""Entries of a table of jitter that netem takes (``NETEM_DIST_MAX`` is 16384, and ``tc`` needs room beside it)."""
NORMAL_QUANTILES = 4096
TABLE_UNIT = 8192
"""A table's entry for one ``jitter`` (``NETEM_DIST_SCALE``); entries are 16 bits, so they end at 4 of them."""
TABLE_MAX = 32767
JITTER_MAX_MS = (2**31 - 1) / 1e6
"""netem holds jitter as a signed 32-bit number of nanoseconds."""


class Jitter(TypedDict, total=False):
    """The sum of delay and jitter is never below 0."""

    jitter_ms: DelayMs
    """Half-width (uniform) or standard deviation (normal)."""
    jitter: Literal["uniform", "normal", "samples"]
    """Uniform, if nothing is said."""
    jitter_file: str
    """Samples in milliseconds, one per line, drawn with replacement; absolute path."""
    jitter_reorders: bool
    """Whether a frame may overtake one with more jitter."""


def netem(requested: Asked) -> list[str]:
    jitter_ms = option_ms(requested)
    name = table_name(requested) if jitter_ms else ""
    delay_us = requested["delay_ms"] * 1000
    if jitter_ms or requested.get("reorder"):
        delay_us = max(delay_us, 1.0)  # tc refuses a distribution, or reordering, without a delay
    return ["delay", f"{delay_us:.3f}us", f"{jitter_ms * 1000:.3f}us", *(["distribution", name] if name else [])]


def netem_refuses(requested: Asked) -> Iterator[str]:
    if (jitter_ms := requested.get("jitter_ms", 0.0)) > JITTER_MAX_MS:
        yield f"jitter {jitter_ms:g} ms: netem takes {JITTER_MAX_MS:.0f} ms at most"
    if file := requested.get("jitter_file"):
        samples = read_samples_ms(Path(file))
        if len(samples) > TABLE_SAMPLES:
            yield f"jitter file {file}: {len(samples)} samples, netem takes {TABLE_SAMPLES} at most"
        # A table's entries reach to 4 times the jitter.
        longest_ms, most_ms = max(map(abs, samples)), 4 * JITTER_MAX_MS
        if longest_ms > most_ms:
            yield f"jitter file {file}: {longest_ms:g} ms, netem takes {most_ms:.0f} ms at most"


def read_samples_ms(path: Path) -> list[float]:
    """Jitter samples, a number of milliseconds per line; raises :class:`ValueError` or :class:`OSError`."""
    if unfit := why_unfit(path):
        raise ValueError(f"{path}: {unfit}")
    samples = []
    with path.open() as lines:
        for number, line in enumerate(map(str.strip, lines), start=1):
            if not line:
                continue
            try:
                sample_ms = float(line)
            except ValueError:
                sample_ms = math.nan
            if not abs(sample_ms) <= LONGEST_DELAY_MS:
                raise ValueError(
                    f"{path}: line {number}: {line[:40]!r}, want milliseconds, {LONGEST_DELAY_MS:.0f} at most"
                )
            samples.append(sample_ms)
    if not samples:
        raise ValueError(f"{path}: no sample, want milliseconds, one per line")
    return samples


def option_ms(requested: Asked) -> float:
    """netem's jitter: half-width of uniform, standard deviation of normal; with samples, such that the largest
    is the largest entry of their table."""
    if requested.get("jitter") != "samples":
        return float(requested.get("jitter_ms", 0.0))
    return max(abs(sample) for sample in read_samples_ms(Path(requested["jitter_file"]))) * TABLE_UNIT / TABLE_MAX


def table_name(requested: Asked) -> str:
    """The name of the jitter's distribution table; empty for uniform, which netem has without."""
    kind = requested.get("jitter", "uniform")
    if kind == "samples":
        return "samples-" + hashlib.sha256(requested["jitter_file"].encode()).hexdigest()[:16]
    return "" if kind == "uniform" else str(kind)


def table(requested: Asked) -> str:
    """The distribution as a file of ``tc`` (``NAME.dist``): entries that netem draws from with replacement.

    The normal distribution by its quantiles, as far as 16 bits go, which is 4 standard deviations.
    """
    if requested.get("jitter") == "samples":
        unit_ms = option_ms(requested)
        multiples = [s / unit_ms if unit_ms else 0.0 for s in read_samples_ms(Path(requested["jitter_file"]))]
    else:
        quantile = NormalDist().inv_cdf
        multiples = [quantile((i + 0.5) / NORMAL_QUANTILES) for i in range(NORMAL_QUANTILES)]
    entries = (max(-TABLE_MAX, min(TABLE_MAX, round(multiple * TABLE_UNIT))) for multiple in multiples)
    return "\n".join(map(str, entries)) + "\n"


IMPAIRMENT = Impairment(
    keys=Jitter,
    effects={"jitter_ms": ("hastens", "varies"), "jitter_file": ("hastens", "varies")},
    netem=netem,
    netem_refuses=netem_refuses,
    fixed=("jitter", "jitter_file", "jitter_reorders"),
    files=("jitter_file",),
)
