"""What the tests of faults share: a run to break, its processes, and what has to hold of one that broke down."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from testbed import paths
from testbed.exit_codes import OF_VERDICT
from testbed.runtime.ledger import RUN_VARIABLE
from tests.emulation.conftest import ON_ANY_MACHINE, Started, result_folder
from tests.emulation.points import points_of

SHORT = (
    "startup",
    "--quick",
    "--runtime",
    "process",
    "--set",
    "transfer=5MiB",
    "--set",
    "transfer_time=1min",
    *ON_ANY_MACHINE,
)
"""A run whose transfer takes five seconds; what is judged of it is not what these tests are about."""


def pids(run: str, *words: str) -> list[int]:
    """The run's own processes, by their mark, whose command line has each of these words."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            marked = f"{RUN_VARIABLE}={run}".encode() in (folder / "environ").read_bytes().split(b"\0")
            line = (folder / "cmdline").read_bytes().decode().split("\0")
        except OSError:  # it has ended
            continue
        names = {word for part in line for word in (part, Path(part).name)}
        if marked and names.issuperset(words):
            found.append(int(folder.name))
    return found


def run_of(tmp_path: Path) -> str:
    """The name of the run that is on."""
    return result_folder(tmp_path).name


def hit(tmp_path: Path, *words: str, number: int = signal.SIGKILL) -> None:
    """Send a signal to the process of the run that has these words in its command line, the first of several."""
    pid, *_ = sorted(pids(run_of(tmp_path), *words))
    os.kill(pid, number)


def await_process(tmp_path: Path, *words: str) -> None:
    """Wait until the run has that process."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (tmp_path / "results" / "startup" / "latest").exists() and pids(run_of(tmp_path), *words):
            return
        time.sleep(0.02)
    raise AssertionError(f"no process {words} after 60 s")


def namespace(tmp_path: Path) -> str:
    name: str = json.loads((result_folder(tmp_path) / "plan.json").read_text())["namespace"]
    return name


def verdict_of(tmp_path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((result_folder(tmp_path) / "verdict.json").read_text())
    return document


def kept(tmp_path: Path) -> list[dict[str, Any]]:
    """The points of ``telemetry.lp``, each of which can be read."""
    return list(points_of(result_folder(tmp_path)))


def broke_down(
    run: Started,
    tmp_path: Path,
    *says: str,
    transferring: bool = True,
    timeout_s: float = 90.0,
    word: Literal["fail", "untrusted"] = "fail",
) -> str:
    """The run ends by itself, as FAIL or UNTRUSTED, says why and where its data is, and keeps what was measured; its
    stderr."""
    code, out, err = run.end(timeout_s)
    folder = result_folder(tmp_path)
    assert code == OF_VERDICT[word], out + err
    assert out.splitlines()[-1] == f"{word.upper()} startup {folder.name}", err
    for text in says:
        assert text in err, err
    assert "Traceback" not in out + err
    assert f"Data and logs so far: {folder}" in err
    verdict = verdict_of(tmp_path)
    assert (verdict["verdict"], {check["status"] for check in verdict["checks"]}) == (word, {"error"})
    assert verdict["trust"]["trusted"] is (word == "fail")
    assert verdict["broken"] in err
    assert (folder / "report.html").is_file()
    if transferring:
        measurements = {point["measurement"] for point in kept(tmp_path)}
        assert measurements >= {"event", "ncp_connection", "ncp_session", "interface", "host"}
    assert not (paths.live_runs() / folder.name).exists(), "its ledger is done with"
    return err


Start = Callable[..., Started]
