"""What NCP's ends sent over a link of real packets, beside what left it and what is still in the host's queue."""

import pytest

from testbed.judge.trust.counts import of_links
from testbed.series import Samples
from tests.checks.in_memory import Where, at, evidence_of, small_plan, small_session, ticks, to_the

QUEUE = frozenset({("direction", "ab"), ("host", "h1"), ("handle", "1:")})
INTERFACE = frozenset({("direction", "ab"), ("host", "h1")})


@pytest.mark.parametrize(
    ("queued", "codes"),
    [(600, []), (0, ["counts.link-carried-otherwise", "counts.interface-sent-otherwise"])],
    ids=["queued", "gone"],
)
def test_what_is_left_in_the_hosts_queue_is_not_lost(queued: int, codes: list[str]) -> None:
    """1000 packets/s leave a link in 10 s, and 10,600 were sent into it."""
    plan = small_plan(sessions=[small_session(connections=[{"index": 1, "link": "fast"}])])
    plan["links"][0]["queue"]["packets"] = 4096
    t = ticks(10)
    link = {"achieved_bps": 8e6, "backlog_bytes": 0.0, "drops": 0.0, "achieved_loss": 0.0}
    found: dict[str | tuple[str, Where], dict[str, Samples]] = {
        "sent": {"1": at(t, lambda t: min(10_600.0, 5000 * t))},
        **{(f"any_link_{key}", to_the("ab")): {"fast": at(t, value)} for key, value in link.items()},
        ("interface_sent_bytes", INTERFACE): {"fast": at([0.0, *t], lambda t: 1e6 * t)},
        ("interface_queued_bytes", QUEUE): {"fast": at(t, 1000.0 * queued)},
    }
    assert [said.code for said in of_links(evidence_of(plan, found))] == codes
