"""A program between two hosts: what an honest one leaves, and what becomes of each that is not."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed import engines, paths, traffic
from testbed.archive.provenance_check import plan_again
from testbed.engines.engine import Programs
from testbed.errors import BadInput, CannotRun, RunFailed, TestbedError, Unsupported
from testbed.planning import program as program_plan
from testbed.planning.resolve import Choices
from testbed.scenario.load import load
from testbed.study.cell import ScenarioCell
from testbed.study.kinds.table_file import columns_of, scenario_of
from testbed.study.kinds.table_file import load as load_table
from testbed.study.verify import Verification
from testbed.traffic import program
from testbed.traffic.program import result
from testbed.traffic.program.end import task_of
from tests.raises import Containing, Said, raises
from tests.said import Saying
from tests.traffic.conftest import SCENARIO, Made, planned

EXAMPLE = paths.CHECKOUT / "examples" / "stripes" / "stripes.py"
LAST = 'with open(f"{OUT}/result.json", "w") as file:\n'
CarryOut = Callable[..., Made]


@pytest.fixture(autouse=True)
def loopback_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs run over the loopback: there are no links that could carry less, and no evidence of any."""
    for rules in ("capacity.violations", "coverage.of_run"):
        monkeypatch.setattr(f"testbed.judge.trust.{rules}", lambda _: [])


@pytest.fixture
def plan_with(tmp_path: Path) -> Callable[..., Any]:
    """The plan of a run of the example, with texts of it replaced."""

    def make(*swaps: tuple[str, str], changed: tuple[str, ...] = ()) -> Any:
        text = EXAMPLE.read_text()
        for old, new in swaps:
            assert text.count(old) == 1, f"should be in the example exactly once: {old!r}"
            text = text.replace(old, new)
        folder = tmp_path / "mine"
        folder.mkdir(exist_ok=True)
        (folder / "mine.py").write_text(text)
        return planned(folder, *changed)

    return make


@pytest.mark.root
def test_an_honest_one_passes_by_what_is_seen_from_outside(plan_with: Callable[..., Any], carry_out: CarryOut) -> None:
    telemetry = 'open(f"{OUT}/telemetry.lp", "w").write(f"blocks,of={ROLE} taken=3i {time.time_ns()}")\n'
    escape = 'os.symlink("/etc/shadow", f"{OUT}/mine")\n'
    made = carry_out(plan_with((LAST, telemetry + escape + LAST)))
    verdict = made.verdict()
    assert verdict.verdict == "pass", verdict
    receiver = made.said("receiver")
    assert receiver["started_unix_ns"] > receiver["said"]["started_unix_ns"], "by the first packet, not by its word"
    assert receiver["finished_unix_ns"] >= receiver["said"]["finished_unix_ns"]
    by_link = receiver["captured"]["payload_bytes"]
    assert list(by_link) == ["fast", "slow"]
    assert sum(by_link.values()) >= 256 * 1024
    shares = [verdict.figures[f"{link}_share"] for link in by_link]
    assert shares == pytest.approx([count / sum(by_link.values()) for count in by_link.values()], abs=1e-6)
    lines = (made.folder / "telemetry.lp").read_text()
    assert f"program_blocks,of=sender,role=sender,run={made.plan['run']},scenario=mine,session=s1 taken=3i" in lines
    assert "ncp_session,policy=mine,role=receiver" in lines
    assert made.provenance["removed_of_the_programs"] == {"s1-receiver": ["mine"], "s1-sender": ["mine"]}
    assert (made.folder / "programs" / "s1-sender" / "result.json").stat().st_uid == os.geteuid()


@pytest.mark.root
def test_it_may_write_to_its_folder_alone(plan_with: Callable[..., Any], carry_out: CarryOut) -> None:
    tried = """for place in (".", IN, "/", "/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", os.path.dirname(OUT)):
    try:
        open(f"{place}/written", "w").close()
    except OSError:
        continue
    sys.exit(f"{place} can be written to")
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
assert status["Uid"].split() == ["65532"] * 4 and int(status["CapEff"], 16) == 0 and int(status["NoNewPrivs"]) == 1
assert "NCP_TESTBED_STATE" not in os.environ and os.getcwd() == os.path.dirname(OUT) + "/program"
"""
    assert carry_out(plan_with((LAST, tried + LAST))).verdict().verdict == "pass"


@pytest.mark.root
def test_one_that_lies_is_not_believed(plan_with: Callable[..., Any], carry_out: CarryOut) -> None:
    """It claims twice the bytes that it has, and has changed one of them."""
    changed = ("    receive(payload)\n", "    receive(payload)\n    payload[7] ^= 1\n")
    twice = (LAST, f'if ROLE == "receiver":\n    result["bytes"] *= 2\n{LAST}')
    verdict = carry_out(plan_with(changed, twice)).verdict()
    assert (verdict.verdict, verdict.checks[0].status) == ("untrusted", "fail")
    (brought,) = re.findall(r"says that it got 524,288 bytes, and packets brought ([\d,]+)", verdict.summary)
    assert 262_144 <= int(brought.replace(",", "")) < 270_000, "a packet may come twice"
    assert "has not the SHA-256 of the 524,288 bytes" in verdict.summary


SECOND = 10**9


GOOD = {"bytes": 1, "sha256": "a" * 64, "started_unix_ns": 1, "finished_unix_ns": 2, "more": "is left alone"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            json.dumps(GOOD | {"bytes": "many"}),
            Said(
                "program.bad-result",
                who="the sender",
                result="result.json",
                field=Containing("bytes: 'many': "),
                error="Input should be a valid integer",
            ),
        ),
        (
            json.dumps(GOOD | {"bytes": -1}),
            Said(
                "program.bad-result",
                field=Containing("bytes: -1: "),
                error="Input should be greater than or equal to 0",
            ),
        ),
        (
            json.dumps(GOOD | {"sha256": "abc"}),
            Said(
                "program.bad-result",
                field=Containing("sha256: 'abc': "),
                error=Containing("String should match pattern"),
            ),
        ),
        (
            json.dumps(GOOD | {"finished_unix_ns": 0}),
            Said("program.bad-result", error=Containing("finished_unix_ns is before started_unix_ns")),
        ),
        (json.dumps(GOOD | {"figures": {"A": 1.0}}), Said("program.bad-result", field=Containing("figures.A"))),
        (json.dumps(GOOD)[:-20], Said("program.result-not-json", result="result.json")),
        (
            "[]",
            Said(
                "program.bad-result",
                result="result.json",
                error="Input should be a valid dictionary or instance of Result",
            ),
        ),
        (" " * (2 << 20), Said("program.result-not-json", error=Containing("2,097,152 bytes; 1,048,576 at most"))),
        (None, Said("program.no-result", who="the sender", result="result.json")),
    ],
)
def test_a_result_that_is_none_is_told_so(tmp_path: Path, text: str | None, says: Said) -> None:
    if text is not None:
        (tmp_path / "result.json").write_text(text)
    with raises(RunFailed, says):
        result.read_result(tmp_path, "the sender")
    (tmp_path / "result.json").write_text(json.dumps(GOOD))
    assert result.read_result(tmp_path, "the sender").bytes == 1


def test_the_end_is_the_kernels_time_to_a_tick(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(json.dumps(GOOD))
    os.utime(file, (1, 1))
    written_ns = file.stat().st_ctime_ns
    for said_ns, seen_ns in (
        (2, written_ns),
        (written_ns + 7, written_ns + 7),
        (written_ns + SECOND, written_ns + result.TICK_NS),
    ):
        said = result.Result.model_validate(GOOD | {"finished_unix_ns": said_ns})
        assert result.appeared_unix_ns(tmp_path, said) == seen_ns


def test_what_a_link_leads_to_is_not_read(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(json.dumps(GOOD))
    out = tmp_path / "out"
    out.mkdir()
    for name in ("result.json", "telemetry.lp"):
        (out / name).symlink_to(elsewhere)
    with raises(RunFailed, "program.no-result", result="result.json"):
        result.read_result(out, "the sender")
    with raises(RunFailed, "program.telemetry-not-readable", file="telemetry.lp"):
        list(result.own_points(out, {}, {}, "the sender"))  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("what", Said("program.bad-telemetry-line", file="telemetry.lp", line=1, text="what")),
        ("a b=1", Said("program.telemetry-without-time", file="telemetry.lp", line=1)),
    ],
)
def test_telemetry_that_is_none_is_told_so(tmp_path: Path, line: str, says: Said) -> None:
    (tmp_path / "telemetry.lp").write_text(line + "\n")
    plan: Any = {"run": "r", "scenario": "s"}
    with raises(RunFailed, says):
        list(result.own_points(tmp_path, plan, {}, "the sender"))


@pytest.mark.root
@pytest.mark.parametrize(
    ("swap", "error", "says"),
    [
        (
            (LAST, f'if ROLE == "sender":\n    sys.exit("no more")\n{LAST}'),
            RunFailed,
            Said("program.ended", who="the sender of session s1", status=1, said=Containing(": no more")),
        ),
        (
            ('!= "transfer"', '== "transfer"'),
            Unsupported,
            Said("program.testcase-unsupported", who="the receiver of session s1", testcase="transfer"),
        ),
    ],
    ids=["dies", "not-supported"],
)
def test_its_exit_code_is_its_word(
    plan_with: Callable[..., Any], carry_out: CarryOut, swap: tuple[str, str], error: type[TestbedError], says: Said
) -> None:
    with raises(error, says):
        carry_out(plan_with(swap))


@pytest.mark.root
@pytest.mark.parametrize(
    ("swap", "says"),
    [
        (('    open(f"{OUT}/ready", "w").close()\n', ""), Said("program.not-ready", timeout_s=1.0, ready="ready")),
        ((LAST, f"time.sleep(60)\n{LAST}"), Said("program.timeout", who=Containing("the receiver of session s1"))),
    ],
    ids=["never-ready", "never-over"],
)
def test_one_that_hangs_is_ended(
    plan_with: Callable[..., Any],
    carry_out: CarryOut,
    monkeypatch: pytest.MonkeyPatch,
    swap: tuple[str, str],
    says: Said,
) -> None:
    if says.code == "program.not-ready":
        monkeypatch.setattr(program, "READY_S", 1.0)
    deaf = ("started = time.time_ns()\n", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nstarted = 1\n")
    plan = plan_with(swap, deaf, changed=("limits.transfer_time=3s",))
    with raises(RunFailed, says):
        carry_out(plan)
    mark = f"NCP_TESTBED_PROCESS_OF={plan['run']}".encode()
    assert not [path for path in Path("/proc").glob("[0-9]*/environ") if mark in _read(path)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


FOR_A_TIME = """\
import hashlib, json, os, socket, time
role, out, port = os.environ["ROLE"], os.environ["OUT"], int(os.environ["PORT"])
task = json.load(open(os.environ["IN"] + "/task.json"))
link, digest, count, started = task["links"][0], hashlib.sha256(), 0, time.time_ns()
if role == "receiver":
    listening = socket.create_server((link["local"], port))
    open(out + "/ready", "w").close()
    while block := (count and connection or (connection := listening.accept()[0])).recv(65536):
        digest.update(block)
        count += len(block)
else:
    payload = open(task["payload"], "rb").read()
    connection = socket.create_connection((link["remote"], port))
    while time.time_ns() - started < task["seconds"] * 1e9:
        connection.sendall(payload)
        digest.update(payload)
        count += len(payload)
connection.close()
result = {"bytes": count, "sha256": digest.hexdigest(), "started_unix_ns": started, "finished_unix_ns": time.time_ns()}
json.dump(result, open(out + "/result.json", "w"))
"""


@pytest.mark.root
def test_it_may_send_for_a_time(tmp_path: Path, carry_out: CarryOut) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.py").write_text(FOR_A_TIME)
    plan = planned(folder, text=SCENARIO.replace("transfer: 256KiB", "for: 300ms"))
    assert plan["sessions"][0]["send_s"] == 0.3
    made = carry_out(plan)
    (payload,) = made.verdict().checks
    assert (made.verdict().verdict, payload.status) == ("pass", "pass"), made.verdict()
    assert payload.measured == made.said("sender")["bytes"] > 2**20


def test_the_simulator_refuses_it_by_name(plan_with: Callable[..., Any]) -> None:
    plan = plan_with() | {"engine": "sim"}
    assert engines.of(plan).unsupported(plan) == [
        "program: it needs a kernel's sockets, which the simulator doesn't have"
    ]


def test_another_program_is_another_run(plan_with: Callable[..., Any]) -> None:
    plans = [plan_with(), plan_with(), plan_with(("BLOCK = 16384", "BLOCK = 8192"))]
    digests = [plan["program"]["sha256"] for plan in plans]
    assert digests[0] == digests[1] != digests[2]
    assert traffic.of(plans[0]).folders(plans[0]) == [Path(plans[0]["program"]["folder"])]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "command: python3 mine.py",
            "commnd: x",
            Said("input.unknown-key", key="commnd", guess=Containing("; did you mean 'command'")),
        ),
        ("command: python3 mine.py", "command: ./mine", Said("program.no-command", command="./mine")),
        ("  transport: tcp\n", "  image: mine\n", Said("program.command-or-image")),
        (
            "transfer: 256KiB",
            "transfer: 1GiB",
            Said(
                "input.wrong-type",
                field="program.transfer",
                value="1GiB",
                error="should be less than or equal to 268435456",
            ),
        ),
        ("transfer: 256KiB", "transfer: 1MiB\n  for: 1s", Said("program.transfer-or-for")),
        (
            "transfer: 256KiB",
            "folder: there\n  transfer: 1MiB",
            Said("program.no-folder", where=Containing("program.folder")),
        ),
        (
            "transfer: 256KiB",
            "environment: {SEED: '1'}\n  transfer: 1MiB",
            Said("program.reserved-variable", variable="SEED"),
        ),
        (
            "judge: payload_intact",
            "judge: follows_law, tolerance: 0.1, from: 0s, to: 1s",
            Said("check.of-other-traffic", kinds="ncp", traffic="program"),
        ),
        (
            "judge: payload_intact",
            "judge: goodput, min: 0.1, from: 0s, to: 1s",
            Said("check.does-not-fit", why=Containing("from and to are of NCP's")),
        ),
        (
            "limits:",
            "timeline: [{at: 1s, do: pause_read, connection: 1, for: 1s}]\nlimits:",
            Said("timeline.pause-without-ncp"),
        ),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, old: str, new: str, says: Said) -> None:
    assert SCENARIO.count(old) == 1
    tmp_path.chmod(0o755)
    with raises(BadInput, says):
        planned(tmp_path, text=SCENARIO.replace(old, new))


def test_a_folder_that_the_program_can_not_read_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with raises(BadInput, "program.folder-not-readable", where=Containing("program.folder")):
        planned(tmp_path)


def test_what_is_not_built_yet_is_no_mistake_and_can_not_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setattr(program_plan, "PEERS", tmp_path / "peers")
    text = SCENARIO.replace("python3 mine.py", "./mine").replace("transport:", "folder: peers/mine\n  transport:")
    plan = planned(tmp_path, text=text)
    with raises(CannotRun, "engine.not-built"):
        engines.named("vkernel").refuse(plan)
    cell = ScenarioCell(
        {"only": "mine"}, load(str(tmp_path / "mine.yaml")), Choices(engine="vkernel"), Programs({}, {})
    )
    assert cell.unsupported.startswith("mine is not built")
    (tmp_path / "peers" / "mine").mkdir(parents=True)
    with raises(BadInput, "program.no-command", command="./mine"):
        planned(tmp_path, text=text)
    (tmp_path / "peers" / "mine" / "mine").touch()
    planned(tmp_path, text=text)
    assert "not built" not in replace(cell).unsupported


def test_the_pages_scenario_is_one(tmp_path: Path) -> None:
    page = (paths.CHECKOUT / "docs" / "program.md").read_text()
    text = page.split("```yaml\n")[1].split("```")[0]
    (tmp_path / "stripes.py").write_bytes(EXAMPLE.read_bytes())
    tmp_path.chmod(0o755)
    assert planned(tmp_path, text=text)["program"]["command"] == ["python3", "stripes.py"]
    told = page.split("## The contract\n")[1].split("```json\n")[1].split("```")[0]
    plan = planned(tmp_path, text=text)
    task = task_of(plan["sessions"][0], "sender", plan["seed"], Path("…/in"), Path("…/out"))
    assert json.loads(told) == task


def test_the_pages_table_has_both_beside_each_other(tmp_path: Path) -> None:
    page = (paths.CHECKOUT / "docs" / "program.md").read_text()
    (tmp_path / "beside.yaml").write_text(next(t for t in page.split("```yaml\n") if "\nrows:" in t).split("```")[0])
    loaded = load_table(str(tmp_path / "beside.yaml"))
    cells = {
        name: scenario_of(loaded, loaded.table.rows[1], column).scenario
        for name, column in columns_of(loaded.table, ["nkp24"]).items()
    }
    assert {name: scenario.traffic for name, scenario in cells.items()} == {
        "delivery-rate": "ncp",
        "stripes": "program",
    }


def test_verify_says_that_the_program_is_not_with_the_results(tmp_path: Path, plan_with: Callable[..., Any]) -> None:
    verified = Verification("mine", "pass")
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    assert plan_again(tmp_path, plan_with(), verified) is None
    assert [*verified.unchecked] == [Saying("plan.own-program")]
    assert not verified.differences


def test_several_share_a_bottleneck(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    head, rest = SCENARIO.split("links:\n")
    sessions = "topology: dumbbell\nsessions: [{name: one}, {name: two, start: 1s}]\n"
    neck = f"{sessions}links:\n  - {{name: neck, rate: 8mbit, delay: 20ms}}\n"
    fair = "checks:\n  - {name: fair, judge: fair_share, min: 0.8, from: 1s, to: 2s}\n"
    text = head + neck + rest[rest.index("program:") :].replace("checks:\n", fair)
    plan = planned(tmp_path, text=text)
    one, two = plan["sessions"]
    assert (one["start_s"], two["start_s"]) == (0, 1)
    assert one["payload_seed"] != two["payload_seed"]
    assert two["expected_s"] == one["expected_s"] + 1
    ends = [
        (end["role"], end["local"], end["remote"]) for end in traffic.of(plan).sockets(plan) if end["session"] == "two"
    ]
    assert ends == [("sender", "198.18.4.1:0", "198.18.5.2:0"), ("receiver", "198.18.5.2:0", "198.18.4.1:0")]
    with raises(BadInput, "program.connections-given", session="two"):
        planned(tmp_path, text=text.replace("start: 1s", "connections: 2"))
