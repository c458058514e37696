"""Traces and the forms that are made of them: each is read back, and one that tells of another run is noticed."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import dpkt
import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from testbed import engines, paths
from testbed.cli.app import command_line
from testbed.documents import read_json
from testbed.engines.engine import Options
from testbed.errors import BadInput, CannotRun, TestbedError
from testbed.interchange.traces import agree, parquet, pcapng, qvis, reading, xplot
from testbed.plan.model import Traces
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load
from testbed.series import FromFile
from testbed.series.file import Point
from tests.raises import Containing, Said, raises
from tests.traces.conftest import ALL, Tshark, made

SENDER = "traces/s1-sender.sqlog"


def test_traces_change_nothing_but_the_runs_name(honest: Path, tmp_path: Path) -> None:
    telemetry = (honest / "telemetry.lp").read_text()
    without = made(tmp_path, None)
    assert not (without / "traces").exists()
    assert (without / "telemetry.lp").read_text() == telemetry.replace(honest.name, without.name)


def test_the_same_run_has_the_same_traces(honest: Path, tmp_path: Path) -> None:
    again = made(tmp_path, ALL)
    names = sorted(path.name for path in (honest / "traces").iterdir())
    assert names == [
        *("fast-h1.pcap", "fast-h2.pcap", "s1-receiver.sqlog", "s1-sender.sqlog", "slow-h1.pcap", "slow-h2.pcap")
    ]
    for name in names:
        assert (again / "traces" / name).read_bytes() == (honest / "traces" / name).read_bytes(), name


def test_every_record_is_as_the_schema_has_it(honest: Path) -> None:
    schema = read_json(paths.CHECKOUT / "schemas" / "qlog.schema.json")
    header = jsonschema.Draft202012Validator(schema)
    event = header.evolve(schema={"$ref": "#/$defs/event", "$defs": schema["$defs"]})
    names = set()
    for trace in reading.traces_of(honest).values():
        assert [*header.iter_errors(trace.header)] == []
        for number, told in enumerate(trace.events):
            if number % 10 == 0 or told["name"] not in names:
                assert [*event.iter_errors(told)] == [], told
            names.add(told["name"])
        times = [told["time"] for told in trace.events]
        assert times == sorted(times)
    assert names >= {f"ncp:{name}" for name in ("packet_sent", "packet_received", "packet_lost", "metrics_updated")}
    assert [*event.iter_errors({"time": 0, "name": "ncp:packet_lost", "data": {"connection": 1}})]


def test_no_trace_has_a_wall_clock_in_it(honest: Path) -> None:
    for trace in reading.traces_of(honest).values():
        assert "wall_clock_time" not in json.dumps(trace.header)
        assert trace.events[-1]["time"] < 60_000


Change = Callable[[Path], None]


def text(old: str, new: str, times: int = 1) -> Change:
    """The sender's trace, changed where a pattern first matches."""

    def change(folder: Path) -> None:
        file = folder / SENDER
        changed, count = re.subn(old, new, file.read_text(), count=times)
        assert count == times
        file.write_text(changed)

    return change


def capture(change: Callable[[list[bytes]], list[bytes]]) -> Change:
    """The frames of a capture at the sender's end."""

    def on(folder: Path) -> None:
        file = folder / "traces" / "fast-h1.pcap"
        with file.open("rb") as found:
            frames = [frame for _, frame in dpkt.pcap.Reader(found)]
        with file.open("wb") as out:
            writer = dpkt.pcap.Writer(out)
            for frame in change(frames):
                writer.writepkt(frame, ts=0)

    return on


DATA = r"\x1e[^\n]*packet_sent[^\n]*sequence[^\n]*\n"

SABOTEURS: dict[str, tuple[Change, str]] = {
    "a packet is left out": (text(DATA, ""), "connection 1: [0-9]+ packets sent, the result has"),
    "a packet is there twice": (text(f"({DATA})", r"\1\1"), "connection 1: [0-9]+ packets sent, the result has"),
    "a packet is shorter": (text('"data_length":1024', '"data_length":1023'), "1048575 bytes of data, .* has 1048576"),
    "a resend is not told of": (text(',"is_resend":true', ""), "packets resent, the result has"),
    "a loss is left out": (text(r"\x1e[^\n]*packet_lost[^\n]*\n", ""), "packets lost, the result has"),
    "another connection": (
        text(r'(ncp:packet_sent","data":{"connection"):1(,"packet":{"sequence")', r"\1:2\2"),
        "connection 1: .* packets sent",
    ),
    "a captured frame is left out": (capture(lambda frames: frames[:-9]), "fast-h1.pcap: s1-1: .* packets sent"),
    "a captured frame is there twice": (capture(lambda frames: [*frames, frames[9]]), "s1-1: .* packets sent"),
}


def test_honest_traces_agree_with_the_results(honest: Path) -> None:
    assert agree.disagreements(honest) == []


@pytest.mark.parametrize("name", SABOTEURS)
def test_a_trace_of_something_else_is_noticed(name: str, traced: Path) -> None:
    change, said = SABOTEURS[name]
    change(traced)
    assert re.search(said, "\n".join(agree.disagreements(traced)))


def export(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(command_line("export"), ["export", *map(str, arguments)])
    return done.exit_code, done.output


def test_export_writes_nothing_of_traces_that_differ(traced: Path) -> None:
    before = sorted(traced.rglob("*"))
    text(DATA, "")(traced)
    code, said = export(traced)
    assert code == 1
    assert said.startswith(f"differs: {traced}/{SENDER}: connection 1: ")
    assert sorted(traced.rglob("*")) == before


def test_export_writes_all_that_there_is(traced: Path) -> None:
    code, said = export(traced)
    assert code == 0
    written = [Path(line) for line in said.splitlines()]
    assert all(path.is_file() for path in written)
    assert Counter(path.suffix for path in written) == {
        ".parquet": 4,
        ".pcapng": 2,
        ".xpl": 2,
        ".qlog": 4,
        ".pdf": 6,
        ".csv": 6,
    }
    assert export(traced, "--xplot")[1].splitlines() == [str(path) for path in written if path.suffix == ".xpl"]


def read_parquet(path: Path) -> list[Point]:
    """The points of an exported file, in its order."""
    table = pq.read_table(path)
    names = {role: [f.name for f in table.schema if f.metadata[parquet.ROLE] == role] for role in (b"tag", b"field")}
    times = table.column("time").cast(pa.int64()).to_pylist()
    return [
        (
            time,
            {name: row[name] for name in names[b"tag"] if row[name] is not None},
            {name: row[name] for name in names[b"field"] if row[name] is not None},
        )
        for time, row in zip(times, table.drop_columns(["time"]).to_pylist(), strict=True)
    ]


def test_parquet_has_every_point_of_the_telemetry(traced: Path) -> None:
    points = FromFile(traced / "telemetry.lp").points()
    files = parquet.export(traced)
    assert {path.stem for path in files} == points.keys() >= {"ncp_connection", "ncp_session", "event", "link"}
    for path in files:
        read, told = read_parquet(path), points[path.stem]
        assert read == told
        assert [[*map(type, fields.values())] for _, _, fields in read] == [
            [type(fields[name]) for name in sorted(fields)] for _, _, fields in told
        ]


def test_parquet_refuses_a_column_of_two_types(tmp_path: Path) -> None:
    (tmp_path / "telemetry.lp").write_text("m,run=r a=1i 1\nm,run=r a=2.5 2\n")
    with raises(
        BadInput, "export.column-types", where=Containing("telemetry.lp: m"), column="a", first="int", second="float"
    ):
        parquet.export(tmp_path)


def test_xplot_draws_what_the_sender_sent(traced: Path) -> None:
    result = read_json(traced / "agents" / "s1-sender.json")
    for path, told in zip(xplot.export(traced), result["connections"], strict=True):
        drawn = parsed(path)
        assert drawn["uarrow white"] + drawn["uarrow red"] == told["sent"]
        assert drawn["R red"] == drawn["uarrow red"] == told["resent"]
        assert drawn["line green"] > 0
        assert drawn["line yellow"] > 0


def parsed(path: Path) -> Counter[str]:
    """Counts what xplot would draw, each with its colour, by the grammar of its manual."""
    lines = iter(path.read_text().splitlines())
    assert next(lines) == "double double"
    drawn, colour = Counter[str](), ""
    for line in lines:
        words = line.split(" ")
        if line in ("title", "xlabel", "ylabel"):
            assert next(lines)
        elif line in ("white", "green", "yellow", "red"):
            colour = line
        elif words[0] in ("uarrow", "darrow", "line", "atext"):
            assert [float(word) >= -1 for word in words[1:]] == [True] * (4 if words[0] == "line" else 2)
            drawn[f"{words[0]} {colour}"] += 1
            if words[0] == "atext":
                drawn[f"{next(lines)} {colour}"] += 1
        else:
            assert line == "go"
            assert next(lines, None) is None
    return drawn


def test_qvis_gets_what_it_draws(traced: Path) -> None:
    result = read_json(traced / "agents" / "s1-sender.json")
    files = {path.name: read_json(path) for path in qvis.export(traced)}
    for told in result["connections"]:
        document = files[f"s1-sender-{told['index']}.qlog"]
        (trace,) = document["traces"]
        assert document["qlog_version"] == "0.3"
        names = Counter(event["name"] for event in trace["events"])
        assert names.keys() >= {"transport:packet_sent", "transport:packet_received", "recovery:metrics_updated"}
        sent = [e["data"] for e in trace["events"] if e["name"] == "transport:packet_sent"]
        data = [one for one in sent if any(frame["frame_type"] == "stream" for frame in one["frames"])]
        assert len(data) == told["sent"]
        assert {one["header"]["packet_type"] for one in data} == {"1RTT"}
        assert names["recovery:packet_lost"] == told["lost"]


def test_pcapng_has_every_frame_in_order_and_tells_what_happened(traced: Path, tshark: Tshark) -> None:
    files = pcapng.export(traced)
    assert [path.name for path in files] == ["h1.pcapng", "h2.pcapng"]
    rows = tshark(files[0], "frame", "frame.time_epoch", "frame.interface_name", "frame.len", "frame.comment")
    times = [float(row[0]) for row in rows]
    assert times == sorted(times)
    for link, interface in (("fast", "h1-eth1 (fast)"), ("slow", "h1-eth2 (slow)")):
        with (traced / "traces" / f"{link}-h1.pcap").open("rb") as file:
            frames = [len(frame) for _, frame in dpkt.pcap.Reader(file)]
        assert [int(row[2]) for row in rows if row[1] == interface] == frames
    comments = [row[3] for row in rows if row[3]]
    assert "transfer_start s1: 1048576 bytes, policy delivery-rate" in comments[0]
    assert any(re.match(r"0\.5\d\d s: set s1: link slow: rate", comment) for comment in comments)


def test_pcapng_begins_with_the_verdict(traced: Path) -> None:
    pcapng.export(traced)
    with (traced / "traces" / "h2.pcapng").open("rb") as file:
        begin = file.read(2000)
    assert b"PASS traced sim-" in begin
    assert b"payload: pass: " in begin


def refusal(kind: type[TestbedError], scenario: str, traces: Traces, *changed: str) -> TestbedError:
    with pytest.raises(kind) as refused:
        engines.named("sim").ready_run(load(scenario, list(changed)), Options(traces=traces), QuietProgress())
    return refused.value


def test_what_there_is_no_trace_of_is_refused_by_name() -> None:
    no_link = Said("run.pcap-no-such-link", name="quick", guess=" (known: fast, slow, all)")
    no_link.check(refusal(BadInput, "startup", {"qlog": False, "pcap": ["quick"]}))
    over_tcp = Containing("--pcap fast: session s1 is over TCP, whose segments the simulator has not")
    refused = refusal(CannotRun, "startup", {"qlog": False, "pcap": ["all"]}, "ncp.transport=tcp")
    Said("engine.refuses", reasons=over_tcp).check(refused)
    refused = refusal(BadInput, "ndn", {"qlog": True, "pcap": []})
    Said("run.qlog-without-ncp", scenario="ndn", traffic="ndn").check(refused)


def test_traces_are_of_a_single_run() -> None:
    asked = ["run", "startup", "--engine", "sim", "--repeat", "2", "--qlog"]
    refused = CliRunner().invoke(command_line("run"), asked).exception
    assert isinstance(refused, BadInput)
    assert refused.message == "--pcap and --qlog: they trace a single run"
    assert refused.hint == "Leave --repeat out."


def test_a_trace_that_was_cut_off_is_bad_input(traced: Path) -> None:
    file = traced / SENDER
    file.write_text(file.read_text()[:-20])
    with raises(BadInput, "qlog.bad-record", path=Containing("s1-sender.sqlog"), number=1595):
        agree.disagreements(traced)
