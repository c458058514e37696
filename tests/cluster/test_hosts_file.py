"""The bench of each host's links beside a study: one that is off is told, and a file that was damaged is found out."""

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import BadInput
from testbed.lab.host_links import LIMITS
from testbed.study.hosts import fitness
from tests.cluster.host_links import host_links
from tests.said import Saying

Keys = tuple[str | int, ...]
MADE = {"m1"}
NOT_MEASURED = Saying("hosts.not-measured", file=fitness.HOSTS_FILE, host="m1")


@pytest.mark.parametrize(
    ("readings", "named"),
    [
        ({}, ""),
        ({"rtt_ms": 50.9}, ""),
        ({"rtt_ms": 51.1}, "mean error of an RTT of 50 ms: 1.100 ms (limit 1.000 ms)"),
        ({"rtt_ms": 48.9}, "mean error of an RTT of 50 ms: 1.100 ms (limit 1.000 ms)"),
        ({"rtt_ms": 52.1}, "p99 error of an RTT of 50 ms: 2.100 ms (limit 2.000 ms)"),
        ({"rate_error": -0.011}, "error of a rate of 10 Mbit/s: -1.100% (limit 1.000%)"),
        ({"echoes": 99}, ""),
        ({"echoes": 98}, "lost of 100 echoes: 2.000% (limit 1.000%)"),
        ({"echoes": 0}, "mean error of an RTT of 50 ms: nothing came through"),
    ],
)
def test_a_host_that_is_off_is_told(readings: dict[str, Any], named: str) -> None:
    off = host_links(**readings).off()
    assert (named in off) if named else not off


def test_one_late_echo_in_a_hundred_is_no_reason_and_two_are() -> None:
    links = host_links()
    late = [links.model_copy(update={"rtts_ms": [55.0] * n + [50.0] * (100 - n)}) for n in (1, 2)]
    assert [bool(one.off()) for one in late] == [False, True]


def test_a_rate_of_which_no_window_came_is_off() -> None:
    assert host_links().model_copy(update={"rate_errors": []}).off()


def test_what_was_measured_is_kept_and_verifies(tmp_path: Path) -> None:
    fitness.add_measurement(tmp_path, "m1", host_links())
    fitness.add_measurement(tmp_path, "m2", host_links(rtt_ms=60))
    first, second = fitness.measurements(tmp_path).hosts
    assert (first.host, first.off, second.host) == ("m1", [], "m2")
    assert second.off
    assert first.links == host_links()
    assert not list(fitness.verify_measurements(tmp_path, MADE))


def test_a_host_that_was_off_or_not_measured_may_have_made_no_runs(tmp_path: Path) -> None:
    assert not list(fitness.verify_measurements(tmp_path, set()))
    assert next(fitness.verify_measurements(tmp_path, MADE)) == Saying(
        "hosts.not-measured", file=fitness.HOSTS_FILE, host="m1"
    )
    fitness.add_measurement(tmp_path, "m1", host_links(rtt_ms=60))
    assert next(fitness.verify_measurements(tmp_path, MADE)) == Saying(
        "hosts.not-measured", file=fitness.HOSTS_FILE, host="m1"
    )
    fitness.add_measurement(tmp_path, "m1", host_links())  # it came again, and was fit
    assert not list(fitness.verify_measurements(tmp_path, MADE))


def changed(document: Any, path: Keys, value: object) -> Any:
    *way, last = path
    at = document
    for key in way:
        at = at[key]
    at[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("limits", "lost"), 0.5),
        (("hosts", 0, "host"), "m2"),
        (("hosts", 0, "off"), ["slow"]),
        (("hosts", 0, "figures", "rtt_mean_error_ms"), 0.01),
        (("hosts", 0, "links", "rtts_ms", 7), 50.06),
        (("hosts", 0, "links", "rate_errors", 0), 0.0),
        (("hosts", 0, "links", "busy"), 0.0),
        (("hosts", 0, "links", "measured_at"), "2026-11-24T18:00:00Z"),
        (("hosts", 0, "sha256"), "0" * 64),
    ],
)
def test_each_thing_that_was_changed_is_a_difference(tmp_path: Path, path: Keys, value: object) -> None:
    fitness.add_measurement(tmp_path, "m1", host_links())
    file = tmp_path / fitness.HOSTS_FILE
    file.write_text(json.dumps(changed(json.loads(file.read_text()), path, value)))
    assert list(fitness.verify_measurements(tmp_path, MADE))


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("schema",), 2, "schema: 2"),
        (("hosts", 0, "links", "rtts_ms", 3), "fast", "hosts.0.links.rtts_ms.3: 'fast'"),
        (("hosts", 0, "links", "rtts_ms", 3), float("nan"), "hosts.0.links.rtts_ms.3: nan"),
        (("hosts", 0, "links", "rtts_ms"), [50.0] * 101, "hosts.0.links.rtts_ms"),
        (("hosts", 0, "links", "more"), 1, "hosts.0.links.more: 1"),
        (("hosts", 0, "links"), None, "hosts.0.links: None"),
    ],
)
def test_a_file_of_another_shape_is_named(tmp_path: Path, path: Keys, value: object, named: str) -> None:
    fitness.add_measurement(tmp_path, "m1", host_links())
    file = tmp_path / fitness.HOSTS_FILE
    file.write_text(json.dumps(changed(json.loads(file.read_text()), path, value)))
    with pytest.raises(BadInput, match=fitness.HOSTS_FILE) as raised:
        list(fitness.verify_measurements(tmp_path, MADE))
    assert named in str(raised.value)


def test_a_file_that_was_cut_off_is_named(tmp_path: Path) -> None:
    fitness.add_measurement(tmp_path, "m1", host_links())
    file = tmp_path / fitness.HOSTS_FILE
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(BadInput, match=fitness.HOSTS_FILE):
        fitness.measurements(tmp_path)


def test_the_limits_are_half_of_what_a_run_allows_by_default() -> None:
    from testbed.scenario.model import Limits

    limits = Limits()
    assert LIMITS["rtt_mean_error_ms"] == 2 * limits.delay_error_ms / 2
    assert LIMITS["rate_error"] == limits.rate_error / 2
