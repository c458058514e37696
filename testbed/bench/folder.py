"""A benchmark's result folder: its figures as JSON and as a document."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.bench import table
from testbed.bench.quiet import HostLoad
from testbed.bench.result import Section, all_met
from testbed.doctor.kernel import processor


def write(name: str, run_id: str, head: str, figures: dict[str, Any], sections: Sequence[Section]) -> Path:
    """Write ``bench.json`` and ``bench.md``, which begins with ``head``; gives the folder."""
    folder = paths.results() / name / run_id
    folder.mkdir(parents=True, exist_ok=True)  # a run's own folder may be there
    document = {
        "schema": 1,
        "run": run_id,
        **figures,
        "passed": all_met(list(sections)),
        "sections": [section.as_json() for section in sections],
    }
    (folder / "bench.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    (folder / "bench.md").write_text(table.as_markdown(head, sections))
    latest = folder.parent / "latest"
    latest.unlink(missing_ok=True)
    latest.symlink_to(run_id)
    return folder


def conclude(
    name: str, title: str, run_id: str, load: HostLoad, begun_s: float, sections: Sequence[Section], *, quick: bool
) -> Path:
    """Print what was measured since ``begun_s`` (monotonic) and write it; gives the folder."""
    for section in sections:
        print(table.as_text(section), end="\n\n", flush=True)
    facts = machine()
    duration_s = round(time.monotonic() - begun_s, 1)
    head = f"{title}, {run_id}: {in_words(facts)}; {load}; {duration_s:.0f} s."
    figures = {"quick": quick, "duration_s": duration_s, "machine": facts, "host_load": load.as_json()}
    place = write(name, run_id, head, figures, sections)
    print(head)
    return place


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "kernel": platform.release(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def in_words(machine: Mapping[str, Any]) -> str:
    """Day and machine, for a result's head."""
    return (
        f"{machine['day']}, Linux {machine['kernel']}, {machine['cores']} cores ({machine['processor']}), "
        f"{machine['memory_bytes'] / 2**30:.0f} GiB"
    )
