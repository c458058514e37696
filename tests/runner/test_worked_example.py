"""The page's new collector, put in place from the page: one file and one line; what it samples is kept and pushed."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from testbed.runtime.collectors import spools_of
from testbed.series import FromFile
from testbed.series.series import Series
from tests import worked_example

WATCH = {
    "run": "r",
    "scenario": "s",
    "interval_ms": 10,
    "tcp_interval_ms": 10,
    "namespaces": {},
    "interfaces": [],
    "netem": [],
    "sockets": [],
}


def test_what_it_samples_is_kept_and_pushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = worked_example.section("architecture.md", "Add a collector")
    (file,), (line,) = worked_example.code(part, "go"), worked_example.code(part, "python")
    (place,) = re.findall(r"This one, `(.*?\.go)`", part)
    (known, entry) = re.findall(r"among `kinds` in `(.*?)` the line `(.*?)`", part)[0]
    changed = {place: file, known: worked_example.with_line(known, "var kinds = []kind{\n", f"\t{entry}\n")}
    collect = worked_example.built("ncp-collect", changed, tmp_path, monkeypatch)
    assert "memory.lp" in spools_of(collect)

    (tmp_path / "watch.json").write_text(json.dumps(WATCH))
    command = [str(collect), "--watch", str(tmp_path / "watch.json"), "--dir", str(tmp_path)]
    spool = tmp_path / "memory.lp"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as collecting:
        while collecting.poll() is None and not (spool.exists() and spool.stat().st_size):
            time.sleep(0.01)
        collecting.send_signal(signal.SIGTERM)
        said, _ = collecting.communicate()
    (of_it,) = [found for found in json.loads(said)["collectors"] if found["collector"] == "memory"]
    assert (of_it["errors"], of_it["samples"] > 0) == (0, True)
    series = eval(line, {"Series": Series})
    found = FromFile(spool).read(series)
    assert list(found) == ["r"]
    assert (found["r"].values > 0).all()
