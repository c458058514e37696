"""References in ``data/reference/``: small files of a result, for its page, plots and expected failures."""

from __future__ import annotations

import shutil
from pathlib import Path

from testbed import confine, paths
from testbed.documents import read_json
from testbed.errors import BadInput
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.study.kinds.table_file import first_run
from testbed.study.ledger import is_plain_name

FOLDER = paths.CHECKOUT / "data" / "reference"
OF_ALL = ("claims.json", "claims.csv", "provenance.json")
OF_A_RUN = ("verdict.json", "plan.json", "provenance.json", "links.csv", "windows.csv", "table.json", "table.csv")
"""Files of a run or table, without telemetry, captures and logs, which a bundle has."""


def place_of(name: str) -> Path:
    """Folder of a reference; raises BadInput for a name that leads elsewhere."""
    if not is_plain_name(name):
        raise BadInput(
            "claims.bad-reference-name",
            f"{name!r} is not a valid folder name in {FOLDER.relative_to(paths.CHECKOUT)}/: use letters, digits, ., _ "
            "and -",
        )
    return FOLDER / name


def keep(result: Path, place: Path) -> list[Path]:
    """Copy the small files of ``result``, a result folder of all claims, a table or a run, to ``place``; returns the
    copies. Raises BadInput for a result that was stopped or can't be trusted, and for another result in ``place``."""
    confine.refuse_links(result)
    if of_all := (result / "claims.json").is_file():
        files = _of_all(result)
    elif (verdict := read_verdict(result)).verdict == Status.UNTRUSTED or verdict.broken:
        raise BadInput("claims.no-reference", f"{result}: {verdict.summary}, so it is no reference")
    else:
        files = [result / name for name in OF_A_RUN]
    named = place / ("claims.json" if of_all else "verdict.json")
    if named.is_file() and read_json(named)["run"] != read_json(result / named.name)["run"]:
        raise BadInput(
            "claims.reference-taken", f"{place} holds the results of another run; give another name, or remove it"
        )
    copies = []
    for path in filter(Path.is_file, files):
        copy = place / path.relative_to(result)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copies.append(Path(shutil.copyfile(path, copy)))
    return copies


def _of_all(result: Path) -> list[Path]:
    """Files of a result of all claims, with their runs and tables."""
    document = read_json(result / "claims.json")
    if not document["complete"]:
        raise BadInput(
            "claims.result-stopped",
            f"{result}: it was stopped before it finished",
            f"Go on with it: ./run.sh all --resume {document['run']}",
        )
    runs = [confine.inside(result, run["folder"]) for run in document["runs"].values() if run["folder"]]
    runs += [first for run in runs if (run / "table.json").is_file() and (first := first_run(run)) is not None]
    return [result / name for name in OF_ALL] + [run / name for run in runs for name in OF_A_RUN]
