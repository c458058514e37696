"""What a bundle says of itself for other tools: RO-Crate metadata (https://w3id.org/ro/crate)."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

REPOSITORY_LICENSE = "https://spdx.org/licenses/Apache-2.0"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
FORMATS = {
    ".json": "application/json", ".csv": "text/csv", ".svg": "image/svg+xml", ".html": "text/html",
    ".yaml": "application/yaml", ".lp": "text/plain", ".log": "text/plain", ".txt": "text/plain",
    ".parquet": "application/vnd.apache.parquet", ".pcap": "application/vnd.tcpdump.pcap", ".py": "text/x-python",
}  # fmt: skip


def metadata(
    files: Mapping[str, tuple[Path, str]], runs: Sequence[Mapping[str, Any]], written: datetime.datetime
) -> dict[str, Any]:
    """The JSON-LD document. ``files`` are the source and the SHA-256 of each by its place in the bundle; ``runs`` the
    entries of ``bundle.json``."""
    crate = ROCrate()
    crate.name = "Results of ncp-testbed: " + ", ".join(str(run["name"]) for run in runs)
    crate.description = (
        "Experiments about transport windows on links whose behaviour is measured, with raw telemetry, plans, "
        "verdicts and provenance. `./run.sh verify` judges them again."
    )
    crate.license = REPOSITORY_LICENSE
    crate.datePublished = written
    profile = crate.add(ContextEntity(crate, PROFILE, {"@type": "CreativeWork", "name": "Process Run Crate"}))
    crate.root_dataset["conformsTo"] = profile
    entities = {
        place: crate.add_file(
            source, dest_path=place,
            properties={
                "name": Path(place).name, "contentSize": str(source.stat().st_size), "sha256": digest,
                "encodingFormat": FORMATS.get(Path(place).suffix, "application/octet-stream"),
            },
        )
        for place, (source, digest) in files.items()
    }  # fmt: skip
    for run in runs:
        _add_run(crate, run, entities)
    document: dict[str, Any] = crate.metadata.generate()
    return document


def _add_run(crate: ROCrate, run: Mapping[str, Any], entities: Mapping[str, Any]) -> None:
    """The run as an action: the testbed at a commit made the results from the scenario."""
    software = crate.add(
        ContextEntity(
            crate, f"#ncp-testbed-{run['commit'] or 'unknown'}",
            {"@type": "SoftwareApplication", "name": "ncp-testbed", "softwareVersion": run["commit"] or "unknown"},
        )
    )  # fmt: skip
    of_run = {place: entity for place, entity in entities.items() if place.startswith(f"{run['path']}/")}
    inputs = [
        e for place, e in of_run.items() if Path(place).name in ("plan.json", "scenario.yaml", "table.yaml")
    ]
    action = crate.add_action(
        software,
        identifier=f"#run-{run['name'].replace(' ', '-')}",
        object=inputs,
        result=[entity for entity in of_run.values() if entity not in inputs],
        properties={
            "name": f"{run['kind']} {run['name']}: {run['verdict']}",
            "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
        },
    )
    crate.root_dataset.append_to("mentions", action)
