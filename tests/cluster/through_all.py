"""A sweep on three machines through everything that may happen to it, beside the same sweep on one machine.

As a program, with more runs: ``python -m tests.cluster.through_all [SEEDS]``, 10 short runs for each seed, as root.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from testbed.runtime.interrupts import interruptible
from tests.cluster.conftest import Place
from tests.cluster.loopback import UNSOUND, until
from tests.cluster.wired import SCHEDULER, SUBMITTER, Wired, wired

HOSTS = ("m1", "m2", "m3")
HELD = [str(UNSOUND / "held.py")]
CUT_OFF_S = 30.0
FEW = 1000
"""Runs that are fewer take a second more each: they would be over in two chunks for each host."""
WITHIN_S = 900.0
"""So long is waited for what a fault brings about, on a machine that has much else to do, too."""


@dataclass
class Submitter:
    """A command with ``--cluster``, and what it says."""

    place: Place
    results: str
    sweep: str
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        self.begin()

    @property
    def words(self) -> str:
        return self._file.read_text()

    @property
    def _file(self) -> Path:
        return self.place.path / f"{self.results}.said"

    def begin(self) -> None:
        """Also again, with what is finished."""
        self.process = self.place.start(self.results, "sweep", self.sweep, "--cluster", said=self._file)

    def kill(self) -> None:
        """By SIGKILL, with all that it started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """Wait for it."""
        assert self.process.wait() == 0, self.words


@dataclass
class Trial:
    """A sweep on machines while things happen to them."""

    place: Place
    cluster: Wired
    submitters: list[Submitter]
    runs: int

    def finished(self, share: float) -> None:
        """Wait until so much of the first submitter's is."""
        first = self.submitters[0]
        until(lambda: self._goes_on() and len(self.place.made(first.results)) >= share * self.runs, 24 * 3600)

    def said(self, words: str) -> None:
        """Wait until a submitter says so."""
        until(lambda: self._goes_on() and any(words in one.words for one in self.submitters), WITHIN_S)

    @contextmanager
    def held(self, *, on: Sequence[str]) -> Iterator[None]:
        """While all hosts hold what they have begun; ``on`` have begun something."""
        for name in HOSTS:
            self.hold(name)
        until(lambda: all(self._has_begun(name) for name in on), WITHIN_S)
        yield
        for name in HOSTS:
            self.hold(name, on=False)

    def hold(self, name: str, *, on: bool = True) -> None:
        """Or let it go on."""
        file = self.cluster.disk(name) / "hold"
        file.touch() if on else file.unlink(missing_ok=True)

    def _has_begun(self, name: str) -> bool:
        return self._goes_on() and bool(self.cluster.begun(name))

    def _goes_on(self) -> bool:
        for one in self.submitters:
            assert one.process.poll() in (None, 0), one.words
        return True


def through_all(place: Place, cluster: Wired, sweep: str, runs: int, beside: str) -> list[Submitter]:
    """The submitters, ended, of ``sweep`` in results ``there`` and of ``beside`` in ``elsewhere``; each fault is an
    expectation that holds."""
    if runs < FEW:
        cluster.further["NCP_TEST_RUN_S"] = "1"
    for name in HOSTS:
        cluster.start_worker(name, program=HELD)
    cluster.write_file()
    submitters = [Submitter(place, "there", sweep)]
    trial = Trial(place, cluster, submitters, runs)

    trial.finished(0.1)  # a worker is killed in mid-run
    with trial.held(on=["m1"]):
        cluster.kill("m1")
        trial.said("m1 is lost")
        until(lambda: not cluster.processes("m1"))
        cluster.start_worker("m1", program=HELD)

    trial.finished(0.2)  # another submitter; a host is cut off, and ends what it has begun
    submitters.append(Submitter(place, "elsewhere", beside))
    with trial.held(on=["m2"]):
        cluster.unplug("m2")
        trial.hold("m2", on=False)
        time.sleep(CUT_OFF_S)
        cluster.unplug("m2", out=False)

    trial.finished(0.3)  # a disk is full
    with trial.held(on=["m3"]):
        cluster.fill("m3")
        trial.hold("m3", on=False)
        trial.said("m3 is left out from here on")
        cluster.make_room("m3")
        cluster.stop("m3")
        cluster.start_worker("m3", program=HELD)

    trial.finished(0.4)
    with trial.held(on=HOSTS):
        cluster.kill(SCHEDULER)
        before = {name: cluster.registered(name) for name in HOSTS}
        cluster.start_scheduler()
        until(lambda: all(cluster.registered(name) > before[name] for name in HOSTS), WITHIN_S)

    trial.finished(0.5)
    with trial.held(on=["m1"]):
        submitters[0].kill()
        submitters[0].begin()
        trial.said("are finished already")

    trial.finished(0.6)  # a host of another commit, and one that sends damaged results
    with trial.held(on=HOSTS):
        cluster.start_worker("m4", program=[str(UNSOUND / "of_another_commit.py")])
        cluster.start_worker("m5", program=[str(UNSOUND / "damages.py")])
        trial.said("m4 is left out: commit 0123456789abcdef there, ")
        trial.said("arrived damaged, ")

    trial.finished(0.7)  # the submitters lose the network
    with trial.held(on=["m1"]):
        cluster.unplug(SUBMITTER)
        time.sleep(CUT_OFF_S)
        cluster.unplug(SUBMITTER, out=False)

    for one in submitters:
        one.end()
    assert not any("m2 is lost" in one.words for one in submitters)
    return submitters


def main(seeds: int) -> None:
    """On disk, as a user has it; prints how it went."""
    with tempfile.TemporaryDirectory(prefix="ncp-through-", dir="/var/tmp") as folder:
        os.environ["NCP_TESTBED_STATE"] = f"{folder}/state"
        place, runs = Place(Path(folder)), 10 * seeds
        windows = "256KiB, 512KiB, 1MiB, 2MiB, 4MiB"
        sweep, beside = str(place.sweep(seconds=1, seeds=seeds, windows=windows)), str(place.sweep(seconds=1, seeds=7))
        try:
            begun_s = time.monotonic()
            place.run("here", "sweep", sweep, within_s=None)
            here_s, begun_s = time.monotonic() - begun_s, time.monotonic()
            with wired(place.path / "cluster") as cluster:
                through_all(place, cluster, sweep, runs, beside)
                there_s = time.monotonic() - begun_s
                cluster.stop_all()
                until(lambda: not cluster.left())  # the server of forks ends when it finds that its worker is gone
            made = place.made("there")
            same = place.told("there") == place.told("here")
            print(f"{runs} runs, {runs - len(set(made))} lost, {len(made) - len(set(made))} doubled")
            print(f"the same bytes: {same}; {here_s:.0f} s by one machine, {there_s:.0f} s through all")
        finally:
            place.end()


if __name__ == "__main__":
    with interruptible():
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
