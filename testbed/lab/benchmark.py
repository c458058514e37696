"""Common steps of all benchmarks: the machine made ready, sections printed as they come, and a result folder."""

import os
import platform
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from testbed import paths
from testbed.documents import write_json
from testbed.engines.engine import Engine, Programs
from testbed.lab import table
from testbed.lab.instrument import HostLoad
from testbed.lab.table import Section
from testbed.machine.kernel import processor
from testbed.planning.resolve import new_run_id
from testbed.results import make_latest
from testbed.runtime import live
from testbed.runtime.interrupts import interruptible
from testbed.runtime.progress import Progress


@dataclass
class Measurement:
    """A benchmark while it runs."""

    name: str
    title: str
    quick: bool
    progress: Progress
    programs: Programs
    parts: tuple[str, ...] = ()
    """Requested parts; all by default."""
    run_id: str = field(default_factory=new_run_id)
    begun_s: float = field(default_factory=time.monotonic)
    load: HostLoad = field(default_factory=HostLoad)
    sections: list[Section] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Candidates that could not be measured beside the rest, in words."""
    say: Callable[[str], None] = print
    """Tells what is on."""

    @property
    def folder(self) -> Path:
        """The result folder."""
        return paths.results() / self.name / self.run_id

    @property
    def namespace(self) -> str:
        """The fabric's, where links are made."""
        return f"ncp-{self.run_id[-4:]}"

    def add(self, section: Section) -> None:
        """A part that is over: it is printed at once."""
        self.sections.append(section)
        print(table.as_text(section), end="\n\n", flush=True)

    def conclude(self) -> bool:
        """Write ``bench.json`` and ``bench.md``, and print how it came out; whether no target was missed."""
        duration_s = round(time.monotonic() - self.begun_s, 1)
        facts = {
            "day": time.strftime("%Y-%m-%d", time.gmtime()),
            "kernel": platform.release(),
            "processor": processor(),
            "cores": os.cpu_count(),
            "load_average": os.getloadavg(),
            "memory_bytes": (memory_bytes := psutil.virtual_memory().total),
        }
        passed = table.all_met(self.sections)
        head = (
            f"{self.title}, {self.run_id}: {facts['day']}, Linux {facts['kernel']}, {facts['cores']} cores "
            f"({facts['processor']}), {memory_bytes / 2**30:.0f} GiB; {self.load}; {duration_s:.0f} s"
            f"{', --quick' if self.quick else ''}."
        )
        if self.missing:
            head += f" Not compared: {'; '.join(self.missing)}."
        document = {"schema": 1, "run": self.run_id, "quick": self.quick, "duration_s": duration_s, "machine": facts}
        document |= {"host_load": self.load.as_json(), "missing": self.missing, "passed": passed}
        document["sections"] = [asdict(section) for section in self.sections]
        self.folder.mkdir(parents=True, exist_ok=True)  # a run's own folder may be there
        write_json(self.folder / "bench.json", document)
        (self.folder / "bench.md").write_text(table.as_markdown(head, self.sections))
        make_latest(self.folder)
        print(head)
        print(f"{'PASS' if passed else 'FAIL'} {self.name} {self.run_id}  ({self.folder / 'bench.md'})")
        return passed


@dataclass(frozen=True)
class Benchmark:
    """A benchmark that ``./run.sh bench`` can run."""

    name: str
    title: str
    engine: Engine
    """The engine whose machine and programs it needs."""
    measure: Callable[[Measurement], None]
    holds_machine: bool = False
    """Whether no run may be on beside it; one that makes a run leaves that to the run."""

    def carry_out(self, requested: str, *, quick: bool, parts: tuple[str, ...] = ()) -> bool:
        """Measure, print and write the result folder; whether no target was missed. ``requested`` is the command."""
        progress = Progress()
        self.engine.refuse_user(requested)
        programs = self.engine.prepare(progress, "process")
        self.engine.clear(progress.say)
        measurement = Measurement(self.name, self.title, quick, progress, programs, parts)
        with ExitStack() as held:
            if self.holds_machine:
                held.enter_context(live.only_run(measurement.run_id, self.name, measurement.namespace))
                held.enter_context(interruptible())
            step = held.enter_context(progress.step(self.name.replace("-", " ")))
            measurement.say = lambda text: progress.update(step, text)
            self.measure(measurement)
        return measurement.conclude()
