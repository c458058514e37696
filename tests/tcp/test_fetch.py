"""Web objects: what a section stands for, and what is made of curl's and the server's words on a run."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from testbed.errors import RunFailed
from testbed.runtime.host_settings import counters, grown
from testbed.scenario.tcp import Fetch
from testbed.traffic.tcp.fetch import check_connections, pages_s, read_lines, sent, sha256_of
from tests.raises import Containing, Said, raises


def fetch(**keys: Any) -> Fetch:
    return Fetch.model_validate({"kind": "fetch", "objects": ["4500B", "100B"], "rounds": 2, **keys})


def fetched(asked: Fetch, *times_s: float, **wrong: Any) -> list[dict[str, Any]]:
    many = len(asked.objects_bytes)
    return [
        {
            "urlnum": n % many,
            "time_total": time_s,
            "http_code": 200,
            "url": "http://x/",
            "size_download": asked.objects_bytes[n % many],
            **(wrong if n == 1 else {}),
        }
        for n, time_s in enumerate(times_s)
    ]


def connection(**other: Any) -> dict[str, Any]:
    return {"client": "198.18.2.2:40000", "initial_window_segments": 10, "congestion_control": "cubic", **other}


def test_objects_one_after_the_other_add_up_and_those_at_once_end_with_the_last():
    one_by_one, at_once = fetch(), fetch(parallel=True)
    assert pages_s(fetched(one_by_one, 0.25, 0.5, 1.0, 2.0), one_by_one) == [0.75, 3.0]
    assert pages_s(fetched(at_once, 0.25, 0.5, 2.0, 1.0), at_once) == [0.5, 2.0]


@pytest.mark.parametrize(
    ("times", "wrong", "said"),
    [
        ((1, 1, 1), {}, Said("fetch.objects-missing", fetched=3, expected=4)),
        ((1, 1, 1, 1), {"size_download": 99}, Said("fetch.object-incomplete", size_download=99, expected=100)),
        ((1, 1, 1, 1), {"http_code": 404}, Said("fetch.object-incomplete", http_code=404)),
    ],
)
def test_what_is_not_as_asked_is_no_result(times, wrong, said):
    with raises(RunFailed, said):
        pages_s(fetched(fetch(), *times, **wrong), fetch())


def test_every_connection_began_as_asked():
    asked = fetch(routes={"sender": {"initcwnd": 3}})
    three = connection(initial_window_segments=3)
    assert check_connections([three] * 4, asked) == three
    with raises(RunFailed, "fetch.connections-shared", connections=3):
        check_connections([three] * 3, asked)
    with raises(RunFailed, "fetch.wrong-first", what="initial_window_segments", got=10, value=3):
        check_connections([three, three, connection(), three], asked)
    with raises(RunFailed, "fetch.wrong-first", what="congestion_control", got="bbr", value="cubic"):
        check_connections([three, three, three, {**three, "congestion_control": "bbr"}], asked)


def test_both_ends_hash_a_page_alike_if_it_is_the_same():
    asked = fetch()
    told = [{"object_bytes": 100, "times": 2, "sha256": "aa"}, {"object_bytes": 4500, "times": 2, "sha256": "bb"}]
    assert sent(told, asked) == {"bytes": 9200, "sha256": sha256_of(["bb", "aa", "bb", "aa"])}
    assert sha256_of(["bb", "aa", "aa", "bb"]) != sha256_of(["bb", "aa", "bb", "aa"])
    less = sent([told[1]], asked)
    assert less["bytes"] == 9000
    assert less["sha256"] != sent(told, asked)["sha256"]


def test_the_section_of_a_plan_is_the_scenarios():
    asked = fetch(routes={"sender": {"initcwnd": 3}}, header_apart=True)
    again = Fetch.of_plan(json.loads(json.dumps(asked.model_dump(mode="json"))))
    assert again.page_s(0.07, 1.2e6) == asked.page_s(0.07, 1.2e6)
    assert again.initial_window_segments == 3
    assert fetch().initial_window_segments == 10


def test_expected_time_grows_with_rounds_and_falls_with_the_window():
    slow = fetch(objects=["100000B"], routes={"sender": {"initcwnd": 3}})
    quick = fetch(objects=["100000B"], routes={"sender": {"initcwnd": 10}})
    assert slow.page_s(0.1, 1e8) > quick.page_s(0.1, 1e8)
    assert fetch(rounds=4).expected_s(0.1, 1e6) == pytest.approx(2 * fetch(rounds=2).expected_s(0.1, 1e6))


@pytest.mark.parametrize(
    "wrong",
    [
        {"objects": []},
        {"objects": ["0B"]},
        {"objects": ["2GiB"]},
        {"objects": [4500]},
        {"objects": ["200MiB", "57MiB"]},
        {"rounds": 0},
        {"routes": {"sender": {"initcwnd": "lock 3"}}},
        {"routes": {"sender": {"initcwnd": 0}}},
    ],
)
def test_bad_sections(wrong):
    with pytest.raises(ValidationError):
        fetch(**wrong)


def test_a_line_that_is_no_json_is_told(tmp_path: Path):
    file = tmp_path / "web-client.jsonl"
    file.write_text('{"a": 1}\ncurl: (7) Failed to connect\n')
    with raises(RunFailed, "fetch.bad-line", line=2, text=Containing("curl: (7)")):
        read_lines(file)


def test_counters():
    before = counters("Tcp: RetransSegs MaxConn\nTcp: 5 -1\nTcpExt: TCPTimeouts\nTcpExt: 0\n")
    assert before == {"Tcp.RetransSegs": 5, "Tcp.MaxConn": -1, "TcpExt.TCPTimeouts": 0}
    after = counters("Tcp: RetransSegs MaxConn\nTcp: 7 -1\nTcpExt: TCPTimeouts\nTcpExt: 1\n")
    assert grown(before, after) == {"Tcp.RetransSegs": 2, "TcpExt.TCPTimeouts": 1}
