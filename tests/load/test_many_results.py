"""A folder of ten thousand results: every verb that looks at results answers as it does with one, and looks at no
other."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed import paths

RUNS = int(os.environ.get("NCP_TESTBED_MANY_RUNS", "10000"))
RUN = ["startup", "--engine", "sim", "--quick"]
COPIES = "20250101-"
"""What the names of the results begin with that nobody asks for."""
WATCH = f"""
import os
import sys

folder = os.environ["WATCHED"]
told = os.open(os.environ["TOLD"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def hook(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], (str, os.PathLike)):
        path = os.path.abspath(arguments[0])
        if path.startswith(folder + "/{COPIES}") or (path == folder and event != "open"):
            os.write(told, f"{{event}} {{path}}\\n".encode())

sys.addaudithook(hook)
"""
"""Python starts with it, here and in all that it starts in turn."""


class Commands:
    """Commands with results of their own, and what they see of the copies there."""

    def __init__(self, place: Path) -> None:
        self.folder = place / "results" / "startup"
        self._told = place / "told"
        (place / "watch").mkdir()
        (place / "watch" / "sitecustomize.py").write_text(WATCH)
        own = {"RESULTS": "results", "STATE": "state", "RUN": "live"}
        self._environment = {
            **os.environ,
            **{f"NCP_TESTBED_{name}": str(place / folder) for name, folder in own.items()},
            "NCP_TESTBED_INFLUX_PORT": "18086",
            "NCP_TESTBED_NO_SETUP": "1",
            "PYTHONPATH": str(place / "watch"),
            "WATCHED": str(self.folder),
            "TOLD": str(self._told),
        }

    def saw(self) -> str:
        """What of the copies was listed or opened since it was last asked."""
        found = self._told.read_text() if self._told.exists() else ""
        self._told.unlink(missing_ok=True)
        return found

    def run(self, *command: str) -> str:
        """What it says; it must end with 0. Its seconds, and those of CPU, are printed."""
        begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{time.monotonic() - begun:6.1f} s, {cpu_s:5.1f} s of CPU  {' '.join(command[1:])}")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def last_words(self, *arguments: str) -> list[str]:
        """The last line of a verb, without a run's name, which may change; it must not look at the copies."""
        line = self.run(str(paths.CHECKOUT / "run.sh"), *arguments).splitlines()[-1]
        assert self.saw() == "", f"{arguments[0]} looked at results that nobody asked for"
        return [word for word in line.split() if not word[:8].isdigit()]


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path)


def add_copies(run: Path, number: int) -> None:
    """So many runs more beside a run, with the same files."""
    files = [path.relative_to(run) for path in run.rglob("*") if path.is_file()]
    folders = [path.relative_to(run) for path in run.rglob("*") if path.is_dir()]
    for i in range(number):
        copy = run.parent / f"{COPIES}{i:06d}-{i:04x}"
        for folder in (Path(), *folders):
            (copy / folder).mkdir()
        for file in files:
            (copy / file).hardlink_to(run / file)


def test_a_run_and_the_list_look_at_no_other_result(commands: Commands) -> None:
    for i in range(2):
        (commands.folder / f"{COPIES}{i}").mkdir(parents=True)
        (commands.folder / f"{COPIES}{i}" / "plan.json").write_text("{}")
    for verb in (RUN, ["list"]):
        commands.last_words(*verb)
    commands.run(
        sys.executable, "-c", f"import pathlib; list(pathlib.Path({str(commands.folder)!r}).glob('*/plan.json'))"
    )
    assert str(commands.folder) in commands.saw(), "one that looks at all is told of"


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_ten_thousand_results(tmp_path: Path, commands: Commands) -> None:
    commands.last_words(*RUN)
    latest = (commands.folder / "latest").resolve()

    def every_verb() -> list[list[str]]:
        bundle = tmp_path / "bundle.zip"
        bundle.unlink(missing_ok=True)
        return [
            commands.last_words(*arguments)
            for arguments in (
                ["list"],
                RUN,
                ["verify", str(latest)],
                ["report", str(latest)],
                ["bundle", str(latest), "--output", str(bundle)],
                ["verify", str(bundle)],
                ["all", "--engine", "sim", "--quick", "--only", "nkp24-startup-law"],
            )
        ]

    before = every_verb()
    begun = time.monotonic()
    add_copies(latest, RUNS)
    print(f"{RUNS} results, made in {time.monotonic() - begun:.0f} s")
    assert every_verb() == before
