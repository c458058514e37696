"""The first line of every CSV file that a result or a night leaves, as readers know it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from testbed import paths
from testbed.engines.emulation import calibration, timeline
from testbed.judge.checks import derived
from testbed.judge.status import Status
from testbed.judge.trust import machine, underlay
from testbed.results.report import plot
from testbed.study.checks import claims as judged
from testbed.study.kinds import sweep as sweep_table
from testbed.study.kinds.table_result import KnownValue, RowSummary, Spread
from testbed.study.kinds.table_result import write_csv as write_table
from testbed.traffic.tcp.captured import sequence
from tests.bundle.old_bundles import files, opened

CLAIMS = (
    "id,source,kind,verdict,reproduces,as_known,published,value,expected,tolerance,measured,n,observations,low,high,"
    "level,run,check,command,result,text,reason"
)
TABLE = "row,column,n,observations,median,low,high,interval_low,interval_high,interval_level,bound,of_bound,state"
SWEEP = "goodput_mib_s,of_bound,settled_s,tau_s,law_settled_s,delivered_ratio,rtt_ms,resent_share,duration_s"
HEADERS = {
    "claims.csv": CLAIMS,
    "data.csv": "t_ms,first_byte,bytes,again",
    "edges.csv": "t_ms,acked_bytes,window_bytes,right_edge_bytes",
    "events.csv": "asked_s,at_s,kind,text",
    "history.csv": "run,how,claim,verdict,as_known,measured,n",
    "host_load.csv": "seconds,idle",
    "links.csv": (
        "link,direction,rate_bps_asked,rate_bps,delay_ms_asked,delay_ms,delay_p99_ms,loss_asked,loss,sent,received"
    ),
    "plots/*.csv": "panel,line,at,x,y",
    "segments.csv": "t_ms,segment,rtt_ms,cwnd,marked,retransmitted",
    "table.csv": f"{TABLE},somebody_else,figure",
    "table.csv of a sweep": f"run,policy,seed,ncp.send_window,state,{SWEEP},rtt_ms_1",
    "underlay.csv": "machine,when,sent_unix_ns,lost,rtt_ns,offset_ns,idle,cpu,origin",
    "windows.csv": "t_s,connection,window,share,in_flight,rtt_ms,rto_ms,acked,session",
}
VARIABLE = {
    "claims.csv": rf"{CLAIMS}(,\w+_verdict,\w+_measured,\w+_n,\w+_difference)*",
    "table.csv": rf"{TABLE}(,\w+)*,figure|run,policy,seed(,[\w.]+)+,state(,{SWEEP}(,rtt_ms_\d+)*)?",
}
"""Files with columns of what there is: engines beside it, who measured before, parameters and connections."""


def _claims(path: Path) -> None:
    judged.write_csv([], path)


def _time_sequence(path: Path) -> None:
    made = sequence.TimeSequence([sequence.Data(0, 0, 1, False)], [sequence.Edge(0, 0, 1, 1)])
    sequence.write_csv(made, path.with_name("edges.csv"), path.with_name("data.csv"))


def _events(path: Path) -> None:
    timeline.write_csv(Path(os.devnull), path)


def _history(path: Path) -> None:
    claims = path.with_name("claims.json")
    claims.write_text(json.dumps({"run": "r", "quick": True, "verdict": "pass", "summary": "", "claims": []}))
    program = paths.CHECKOUT / ".ci" / "history.py"
    subprocess.run([sys.executable, str(program), "sim", str(claims), str(path)], check=True)


def _host_load(path: Path) -> None:
    machine.write_spans([], path)


def _links(path: Path) -> None:
    calibration.write_csv([calibration.LinkReading("slow", "ab", 1, 1, 1, 1, 1, 0, 0, 1, 1)], path)


def _plot(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(plot.as_csv(Figure()))


def _segments(path: Path) -> None:
    source = (paths.CHECKOUT / "ndn-agent" / "agent" / "segmentlog.go").read_text()
    (header,) = re.findall(r'out\.WriteString\("(.*)\\n"\)', source)
    path.write_text(header + "\n")


def _table(path: Path) -> None:
    cells = {"rtts": {"cubic": Spread.of([1.0])}}
    known = [KnownValue("somebody else", "cubic", 1.0, "rtts")]
    write_table([RowSummary("1", "1", "", {}, cells, {"cubic": Status.PASS}, known)], ["cubic"], path)


def _underlay(path: Path) -> None:
    underlay.write([], path)


WRITERS: dict[str, Callable[[Path], None]] = {
    "claims.csv": _claims,
    "data.csv": _time_sequence,
    "edges.csv": _time_sequence,
    "events.csv": _events,
    "history.csv": _history,
    "host_load.csv": _host_load,
    "links.csv": _links,
    "plots/*.csv": _plot,
    "segments.csv": _segments,
    "table.csv": _table,
    "underlay.csv": _underlay,
}


def first_line(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().rstrip("\r\n")


@pytest.mark.parametrize("name", WRITERS)
def test_it_is_what_the_code_writes(name: str, tmp_path: Path) -> None:
    file = tmp_path / name.replace("*", "any")
    WRITERS[name](file)
    assert first_line(file) == HEADERS[name]


def test_the_columns_of_sweeps_and_windows_are_what_the_code_writes(old: dict[Path, str]) -> None:
    """What these are written from takes a run: verify writes those of old results again, and compares them."""
    assert ",".join(sweep_table.COLUMNS) == SWEEP
    assert ",".join(derived.COLUMNS) == HEADERS["windows.csv"]
    assert {HEADERS["windows.csv"], HEADERS["events.csv"], HEADERS["links.csv"], CLAIMS} <= set(old.values())
    assert any(line.startswith("run,policy,seed,links.path.copies,state,") for line in old.values())


@pytest.fixture(scope="module")
def old() -> dict[Path, str]:
    """The first line of each CSV file of the old results and of the reference results."""

    def in_(folder: Path, of: Path) -> Iterator[tuple[Path, str]]:
        yield from ((of / path.relative_to(folder), first_line(path)) for path in folder.rglob("*.csv"))

    found = dict(in_(paths.CHECKOUT / "data" / "reference" / "claims-guest-2026-11-23", Path("reference")))
    for file in files():
        with opened(file) as place:
            found |= in_(place, Path(file.stem))
    return found


def test_every_file_of_an_old_result_has_it(old: dict[Path, str]) -> None:
    names = {path: "plots/*.csv" if path.parent.name == "plots" else path.name for path in old}
    here = {path: name for path, name in names.items() if "published" not in path.parts and "source" not in path.parts}
    other = {
        str(path): old[path]
        for path, name in here.items()
        if not re.fullmatch(VARIABLE.get(name, re.escape(HEADERS.get(name, "(unknown)"))), old[path])
    }
    assert other == {}
    assert set(here.values()) >= {"claims.csv", "data.csv", "links.csv", "table.csv", "windows.csv", "plots/*.csv"}


def test_other_columns_are_seen() -> None:
    assert re.fullmatch(VARIABLE["table.csv"], HEADERS["table.csv"])
    assert re.fullmatch(VARIABLE["table.csv"], HEADERS["table.csv of a sweep"])
    for name in VARIABLE:
        assert not re.fullmatch(VARIABLE[name], f"more,{HEADERS[name]}")
        assert not re.fullmatch(VARIABLE[name], HEADERS[name].replace("state", "status").replace("level", "at"))
