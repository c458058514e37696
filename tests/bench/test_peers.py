"""How other projects' links are asked for."""

from collections import Counter

import pytest

from testbed.lab.peers import Mahimahi, Rattan, opportunities_ms


@pytest.mark.parametrize("rate_bps", [100_000, 1_000_000, 10_000_000])
def test_a_trace_has_the_rate(rate_bps: int) -> None:
    times = list(opportunities_ms(rate_bps))
    assert times == sorted(times)
    assert times[0] >= 1
    assert len(times) * 1504 * 8 / (times[-1] / 1000) == pytest.approx(rate_bps)
    per_ms = Counter(times)
    assert max(per_ms.values()) - rate_bps / 1504 / 8 / 1000 < 1, "spread evenly"


def test_a_missing_peer_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    assert "mahimahi" in Mahimahi.missing()
    assert "cargo install rattan" in Rattan.missing()
