"""What a middle can't do is said before a run, with the way out."""

from pathlib import Path

import pytest

from topologies.capabilities import RELAY_FRAMES, refusals
from topologies.impairments.jitter import TABLE_SAMPLES
from topologies.link import Impairments, Link, resolve_link
from topologies.units import QueueLength, Rate


def link(impairments: Impairments, name: str = "k", delay_ms: float = 0.0) -> list[Link]:
    return [resolve_link(1, name, "h1", "h2", Rate(pps=1000), impairments=impairments, delay_ms=delay_ms)]


def test_an_ordinary_link_is_refused_by_neither() -> None:
    links = link(Impairments(jitter_ms=5, reorder=0.1, duplicate=0.1, corrupt=0.1), delay_ms=50)
    assert refusals(links, "netem") == []
    assert refusals(links, "relay") == []


def test_netem_has_no_traces() -> None:
    links = link(Impairments(trace_file="/x/lte.trace"), name="lte")
    (said,) = refusals(links, "netem")
    assert "link 'lte': trace /x/lte.trace" in said
    assert "--link relay" in said
    assert refusals(links, "relay") == []


def test_jitter_beyond_netems_numbers() -> None:
    (said,) = refusals(link(Impairments(jitter_ms=3000)), "netem")
    assert "jitter 3000 ms" in said
    assert "--link relay" in said


def test_too_many_samples_for_netem(tmp_path: Path) -> None:
    path = tmp_path / "samples.txt"
    path.write_text("1\n" * TABLE_SAMPLES)
    links = link(Impairments(jitter="samples", jitter_file=str(path)))
    assert refusals(links, "netem") == []
    path.write_text("1\n" * (TABLE_SAMPLES + 1))
    (said,) = refusals(links, "netem")
    assert str(path) in said
    assert "--link relay" in said
    assert refusals(links, "relay") == []


@pytest.mark.parametrize("middle", ["netem", "relay"])
def test_a_file_that_can_not_be_read_is_refused_by_both(tmp_path: Path, middle: str) -> None:
    links = link(Impairments(jitter="samples", jitter_file=str(tmp_path / "none.txt")))
    (said,) = refusals(links, middle)  # type: ignore[arg-type]
    assert "none.txt" in said
    assert "--link" not in said, "another middle does not help"


def test_the_relay_holds_only_so_many_frames() -> None:
    long = [resolve_link(1, "satellite", "h1", "h2", Rate(pps=100_000), delay_ms=800)]
    (said,) = refusals(long, "relay")
    assert "link 'satellite'" in said
    assert f"{RELAY_FRAMES:,}" in said
    assert refusals(long, "netem") == []
    queued = [
        resolve_link(1, "k", "h1", "h2", Rate(pps=1000), queue_mode="droptail", queue=QueueLength(packets=RELAY_FRAMES))
    ]
    assert refusals(queued, "relay")


def test_the_relays_pool_is_as_large_as_its_source_says() -> None:
    source = Path(__file__).parents[2] / "internal" / "relay" / "pool.go"
    assert "poolFrames = 1 << 17" in source.read_text()
    assert RELAY_FRAMES == 1 << 17
