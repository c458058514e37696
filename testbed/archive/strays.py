"""Files in a result folder that no step produces: nothing follows from them, and nothing of them is confirmed."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from testbed.study.ledger import LEDGER, OLD_MARKS, OLD_REQUESTS, STUDY

PARTS = ("cells", "runs")
"""Folders of the runs and studies that a study is made of."""
FOLDERS = ("agents", "logs", "paper", "plots", "spools", "traces")
"""Folders of raw data, logs and drawings; the drawings are compared one by one."""
DOCUMENTS = (
    *(STUDY, LEDGER, *OLD_REQUESTS, *OLD_MARKS),
    *("plan.json", "scenario.yaml", "scenario.py", "topology.py", "provenance.json", "verdict.json", "report.html"),
    "gallery.html",
    *(
        "relay.json",
        "probe.json",
        "sim.json",
        "host_load.csv",
        "underlay.csv",
        "links.csv",
        "windows.csv",
        "events.csv",
    ),
    *("table.yaml", "table.json", "table.csv", "table.parquet", "claims.csv"),
    *("data.csv", "edges.csv", "segments.csv", "*-client.json", "*-server.json", "iperf3-*.json", "web-*.sha256"),
    *("*.diff", "*.jsonl", "*.lp", "*.pcap", "*.sqlog"),
)
"""Files of a run or study, beside its folders."""
OF_PARTS = (LEDGER, "cell.json", "made.json", "log.txt")
"""Files beside the runs of a study."""


def strays(folder: Path) -> Iterator[str]:
    """The files in a result folder, by their path in it, that no step produces."""
    marks = {"plan.json", "table.json", STUDY, *OLD_MARKS}
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    homes = {Path(), *(path.parent for path in files if path.name in marks and path.parts[0] in PARTS)}
    for path in files:
        home = next(parent for parent in path.parents if parent in homes)
        first, *rest = path.relative_to(home).parts
        known = OF_PARTS if first in PARTS and rest else DOCUMENTS
        # Of repetitions there is no page.
        if (first in ("report.html", "plots") and (folder / home / "hashes.json").is_file()) or (
            not (rest and first in FOLDERS)
            and ((rest and first not in PARTS) or not any(fnmatchcase(path.name, name) for name in known))
        ):
            yield path.as_posix()
