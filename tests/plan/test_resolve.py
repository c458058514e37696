"""The plan: links with addresses, rates and seeds of their own."""

import os
from pathlib import Path

import pytest

from testbed.errors import BadInput
from testbed.plan.duration import expected_transfer_s
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.planning.sessions import PolicyFacts
from testbed.planning.show import plan_text
from testbed.scenario.load import load
from tests.raises import Containing, raises
from topologies.impairments.jitter import read_samples_ms
from topologies.link import burst_bytes_at, link_seed, rate_pps, resolve_link
from topologies.link_files import LARGEST_BYTES
from topologies.units import Rate

POLICIES: PolicyFacts = {
    "nkp24": {"name": "nkp24", "cap_packets": None, "initial": "W/n"},
    "previous": {"name": "previous", "cap_packets": 256, "initial": "16"},
    "delivery-rate": {"name": "delivery-rate", "cap_packets": None, "initial": "W/n"},
}


def plan_of(*assignments: str, **choices):
    return resolve(load("startup", assignments), POLICIES, Choices(**choices), new_run_id())


def test_startup_as_the_proposal_has_it() -> None:
    plan = plan_of()
    assert [rate_pps(link) for link in plan["links"]] == [1024, 128]
    assert [link["delay_ms"] for link in plan["links"]] == [50, 50]
    assert plan["links"][0]["frame_bytes"] == 1073
    assert plan["links"][0]["rate_bps"] == 1024 * 1073 * 8
    assert [link["queue"]["packets"] for link in plan["links"]] == [102, 13], "2 x rate x latency, mockconn's buffer"
    assert expected_transfer_s(plan) == pytest.approx(49152 / 1152)


def test_addresses_and_names_differ() -> None:
    links = plan_of()["links"]
    ends = [end for link in links for end in (link["a"], link["b"])]
    for attribute in ("interface", "address", "mac", "middle_interface"):
        assert len({dict(end)[attribute] for end in ends}) == len(ends)


def test_adding_a_link_changes_no_other_links_seed() -> None:
    before = {name: link_seed(1, name) for name in ("fast", "slow")}
    after = {name: link_seed(1, name) for name in ("extra", "fast", "slow")}
    assert {name: after[name] for name in before} == before
    assert link_seed(2, "fast") != before["fast"]


def test_the_seed_of_the_command_line_wins() -> None:
    assert plan_of(seed=5)["seed"] == 5
    assert plan_of("seed=9")["seed"] == 9


def test_an_unknown_policy_names_those_that_there_are() -> None:
    with raises(BadInput, "scenario.no-such-policy", name="previus", guess="; did you mean 'previous'?"):
        plan_of("policy=previus")


def test_a_check_of_an_unknown_policy_is_refused() -> None:
    with raises(BadInput, "check.no-such-target", place=Containing("windows follow the law.policy"), name="nkp25"):
        plan_of("checks.1.policy=nkp25")


def test_a_file_that_may_take_for_ever_to_read_is_refused_unread(tmp_path: Path) -> None:
    os.mkfifo(fifo := tmp_path / "fifo")
    (huge := tmp_path / "huge").touch()
    os.truncate(huge, LARGEST_BYTES + 1)
    for file, why in (
        ("/dev/zero", "no ordinary file"),
        (fifo, "no ordinary file"),
        (tmp_path, "no ordinary file"),
        (huge, f"{LARGEST_BYTES + 1} bytes; want numbers"),
        ("/proc/kmsg", "0 bytes; want numbers"),
        (tmp_path / "none", "No such file or directory"),
    ):
        with pytest.raises(BadInput, match=rf"links\.slow\.jitter: {file}: .*{why}"):
            plan_of(f"links.slow.jitter={{file: {file}}}")
        with pytest.raises(BadInput, match=rf"links\.fast\.trace: {file}: .*{why}"):
            plan_of(f"links.fast.trace={file}", "links.fast.queue={mode: droptail}")
    with pytest.raises(ValueError, match="no ordinary file"):
        read_samples_ms(fifo)


def test_an_index_beyond_the_address_plan() -> None:
    with pytest.raises(ValueError, match="outside 1 to 255"):
        resolve_link(256, "far", "h1", "h2", Rate(pps=1))


def test_the_transport_is_udp_unless_asked_for() -> None:
    (over_udp,), (over_tcp,) = plan_of()["sessions"], plan_of("ncp.transport=tcp")["sessions"]
    assert (over_udp["transport"], over_tcp["transport"]) == ("udp", "tcp")


def test_connections_of_tcp_have_a_congestion_control_and_not_the_machines() -> None:
    (over_udp,), (over_tcp,) = plan_of()["sessions"], plan_of("ncp.transport=tcp")["sessions"]
    assert "congestion_control" not in over_udp
    assert over_tcp["congestion_control"] == "cubic"
    asked = plan_of("ncp.transport=tcp", "ncp.congestion_control=bbr")
    assert asked["sessions"][0]["congestion_control"] == "bbr"
    assert "over TCP (bbr)" in plan_text(asked)


def test_the_plan_in_words() -> None:
    text = plan_text(plan_of(quick=True))
    for part in ("1024 packets/s", "50 ms one-way", "policy nkp24", "48 MiB", "follows_law"):
        assert part in text


def test_the_plan_in_words_has_the_timeline(tmp_path: Path) -> None:
    events = (
        "{at: 0s, do: set, link: slow, direction: ba, rate: 64pps}",
        "{at: 3s, do: set, link: slow, rate: 1mbit, delay: 9ms}",
        "{at: 5s, do: ramp, link: fast, over: 2s, delay: [50ms, 90ms]}",
    )
    timeline = "".join(f"  - {event}\n" for event in events)
    (file := tmp_path / "mine.yaml").write_text(f"name: mine\nextends: startup\ntimeline:\n{timeline}")
    plan = resolve(load(str(file), ()), POLICIES, Choices(), new_run_id())
    said = [line for line in plan_text(plan).splitlines() if line.startswith("  timeline ")]
    assert said[:3] == [
        "  timeline   at 0 s slow ba: 64 packets/s",
        "  timeline   at 3 s slow: 1 Mbit/s, delay 9 ms",
        "  timeline   at 5 s fast: delay 50 ms",
    ]
    assert len(said) == 13
    assert said[-1] == "  timeline   … and 11 more, the last at 7 s fast: delay 90 ms"


def test_the_variant_tells_which_runs_may_be_compared() -> None:
    assert plan_of()["variant"] == "full"
    assert resolve(load("startup", (), quick=True), POLICIES, Choices(quick=True), new_run_id())["variant"] == "quick"
    assert plan_of("transfer=2MiB")["variant"] == "changed"


def test_a_burst_is_beyond_what_the_shaper_needs() -> None:
    def burst_bytes(*assignments: str) -> int:
        (fast, *_) = plan_of(*assignments)["links"]
        return int(fast["burst_bytes"])

    needed = burst_bytes()
    assert burst_bytes("links.fast.burst=2MiB") == 2 << 20
    assert burst_bytes("links.fast.burst=100B") == needed, "with less the rate could not be held"


def test_a_changed_rate_keeps_the_burst_that_was_asked_for() -> None:
    (plain, *_), (asked, *_) = plan_of()["links"], plan_of("links.fast.burst=2MiB")["links"]
    assert burst_bytes_at(plain, plain["rate_bps"]) == plain["burst_bytes"]
    assert burst_bytes_at(plain, 100e6) == 37_500, "3 ms of it"
    assert burst_bytes_at(asked, 100e6) == burst_bytes_at(asked, 1e6) == 2 << 20


def test_a_path_through_a_relay_has_its_burst_on_both_hops() -> None:
    plan = resolve(load("relays", ["links.fast.burst=2MiB"]), POLICIES, Choices(), new_run_id())
    assert [link["burst_bytes"] for link in plan["links"] if link["name"].startswith("fast")] == [2 << 20] * 2
