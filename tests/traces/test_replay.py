"""Each acknowledgement and timeout of a short run moves windows and RTOs as the rules say, and where a constant of a
policy is another, the trace shows it."""

import json
from pathlib import Path

import pytest

from testbed import paths
from testbed.engines.sim.run import simulate
from tests.golden import plans
from tests.sabotage.catalogue import ENTRIES
from tests.sabotage.entry import Swap
from tests.sabotage.lab import simulator_of
from tests.traces.replay import differences

SHORT = ("ncp.transfer=12MiB",)
FAR = (*SHORT, "limits.transfer_time=300s", "links.first.delay=2s", "links.second.delay=2s")
"""Three round trips are more than the largest RTO."""
_NKP24, _RTO = "ncp-agent/policy/nkp24.go", "ncp-agent/policy/rto.go"
BY_NAME = {entry.name: tuple(entry.swaps) for entry in ENTRIES}
OTHERWISE = {
    "nkp24": {
        **{name: BY_NAME[name] for name in ("two-per-ack", "half-per-ack", "floor-of-4", "three-quarters")},
        **{name: BY_NAME[name] for name in ("not-halved", "halved-once-per-check", "half-the-sum")},
        "resent ones count": (Swap(_NKP24, "if !ack.Resent {", "if true {"),),
        "an RTO of two round trips": (Swap(_RTO, "3*sample - rto", "2*sample - rto"),),
        "an RTO of four round trips": (Swap(_RTO, "3*sample - rto", "4*sample - rto"),),
        "an RTO that follows twice as fast": (Swap(_RTO, "float64(100*time", "float64(200*time"),),
        "an RTO of 20 s at most": (Swap("ncp-agent/session/config.go", "MaxRTO: 10 *", "MaxRTO: 20 *"),),
    },
    "previous": {
        "cap-of-512": BY_NAME["cap-of-512"],
        "three-quarters": BY_NAME["three-quarters"],
        "floor-of-4": BY_NAME["floor-of-4"],
    },
}
SHOWN_FAR = ("an RTO of 20 s at most",)
ON_EACH_PUSH = ("two-per-ack", "cap-of-512")


def replayed(policy: str, swaps: tuple[Swap, ...], place: Path, *changes: str) -> list[str]:
    """What a run's trace has that the rules don't give."""
    folder = place / "run"
    (folder / "logs").mkdir(parents=True)
    plan = plans.plan_of(
        "link-break-blackhole", f"ncp.policy={policy}", *changes, engine="sim", checkout=str(paths.CHECKOUT)
    )
    plan["traces"] = {"qlog": True, "pcap": []}
    (folder / "plan.json").write_text(json.dumps(plan))
    simulate(folder, simulator_of(swaps, place))
    (trace,) = folder.glob("traces/*-sender.sqlog")
    assert changes == FAR or b"ncp:packet_lost" in trace.read_bytes()
    return list(differences(trace, policy, slowest_pps=1024))


@pytest.mark.parametrize("changes", [SHORT, FAR], ids=["near", "far"])
@pytest.mark.parametrize("policy", OTHERWISE)
def test_every_acknowledgement_and_timeout_counts_as_the_rule_says(
    policy: str, changes: tuple[str, ...], tmp_path: Path
) -> None:
    assert replayed(policy, (), tmp_path, *changes) == []


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        pytest.param(policy, name, id=name, marks=() if name in ON_EACH_PUSH else pytest.mark.nightly)
        for policy, defects in OTHERWISE.items()
        for name in defects
    ],
)
def test_another_constant_is_seen(policy: str, name: str, tmp_path: Path) -> None:
    assert replayed(policy, OTHERWISE[policy][name], tmp_path, *(FAR if name in SHOWN_FAR else SHORT)) != []
