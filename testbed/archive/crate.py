"""A bundle's description for other tools: RO-Crate metadata (https://w3id.org/ro/crate)."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rocrate.rocrate import ROCrate

from testbed.scenario import bounded

VERSION = "1.1"
"""Version of RO-Crate that the profile is written for."""
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
LICENSE = {
    "@id": "https://spdx.org/licenses/Apache-2.0",
    "@type": "CreativeWork",
    "name": "Apache License 2.0",
    "description": "A permissive licence of the Apache Software Foundation.",
}
AUTHORS = {"@id": "#authors", "@type": "Organization", "name": "The authors of ncp-testbed"}
SOFTWARE = "https://identifiers.org/swh:1:rev:"
"""Software Heritage's identifier of a commit is its own name."""
TERMS = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}
"""Terms that RO-Crate's context lacks."""
EARLIEST = "1980-01-01T00:00:00+00:00"
"""Date of a bundle whose runs have none."""
COMPLETED = "http://schema.org/CompletedActionStatus"
INPUTS = ("plan.json", "scenario.yaml", "scenario.py", "table.yaml", "sweep.yaml", "topology.py")
DESCRIPTIONS: Mapping[str, Any] = bounded.load(
    Path(__file__).with_name("descriptions.yaml").read_text(encoding="utf-8")
)
"""Descriptions of files by their names, and format and description by their suffixes."""


def metadata(files: Mapping[str, tuple[Path, str]], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON-LD document. ``files`` are the source and the SHA-256 of each by its place in the bundle; ``runs`` the
    entries of ``bundle.json``. The bundle's date is that of the last of the runs, so that bundling again changes
    nothing."""
    crate = ROCrate(version=VERSION)
    crate.metadata.extra_terms.update(TERMS)
    crate.name = "Results of ncp-testbed: " + ", ".join(str(run["name"]) for run in runs)
    crate.description = (
        "Experiments about transport windows on links whose behaviour is measured, with raw telemetry, plans, "
        "verdicts and provenance. `./run.sh verify` judges them again."
    )
    crate.license = crate.add_jsonld(dict(LICENSE))
    commits = sorted({commit for run in runs for commit in _commits(run)} - {""})
    authors = crate.add_jsonld(AUTHORS | ({"url": f"{SOFTWARE}{commits[0]}"} if commits else {}))
    crate.root_dataset["author"] = crate.root_dataset["publisher"] = authors
    newest = max((_iso(run["written"]) for run in runs if run["written"]), default=EARLIEST)
    crate.datePublished = datetime.datetime.fromisoformat(newest)
    crate.root_dataset["conformsTo"] = crate.add_jsonld(
        {"@id": PROFILE, "@type": ["CreativeWork", "Profile"], "name": "Process Run Crate", "version": "0.5"}
    )
    entities = {}
    for place, (source, digest) in files.items():
        about = {"name": Path(place).name, "description": _description(place)}
        about |= {"contentSize": str(source.stat().st_size), "sha256": digest, "encodingFormat": _of_suffix(place)[0]}
        entities[place] = crate.add_file(source, dest_path=place, properties=about)
    for run in runs:
        _add_run(crate, run, entities, authors)
    document: dict[str, Any] = crate.metadata.generate()
    return {**document, "@graph": [_compact(entity) for entity in document["@graph"]]}


def _add_run(crate: ROCrate, run: Mapping[str, Any], entities: Mapping[str, Any], authors: Any) -> None:
    """The run as an action: the testbed at a commit made the results from the scenario."""
    of_run = {place: entity for place, entity in entities.items() if place.startswith(f"{run['path']}/")}
    inputs = [entity for place, entity in of_run.items() if Path(place).name in INPUTS]
    results = [entity for entity in of_run.values() if entity not in inputs]
    what, verdict = f"{run['kind']} {run['name']}", run["verdict"]
    about = f"The testbed made the {what} and judged it: {verdict}."
    properties = {"name": f"{what}: {verdict}", "description": about, "actionStatus": COMPLETED, "agent": authors}
    if run["written"]:
        properties["endTime"] = _iso(run["written"])
    name, software = f"#run-{run['name'].replace(' ', '-')}", [_software(crate, commit) for commit in _commits(run)]
    action = crate.add_action(software, name, object=inputs, result=results, properties=properties)
    crate.root_dataset.append_to("mentions", action)


def _commits(run: Mapping[str, Any]) -> list[str]:
    """The authors of a run; "" stands for an unknown one."""
    return str(run["commit"] or "").split(", ")


def _software(crate: ROCrate, commit: str) -> Any:
    """The testbed at a commit, "" where it is not known."""
    name = f"{SOFTWARE}{commit}" if commit else "#ncp-testbed"
    software = {"@id": name, "@type": "SoftwareApplication", "name": "ncp-testbed"}
    software |= {"softwareVersion": commit, "url": name} if commit else {"softwareVersion": "unknown"}
    return crate.add_or_update_jsonld(software)


def _iso(written: object) -> str:
    """A provenance's time as all of Python can read it."""
    return str(written).replace("Z", "+00:00")


def _of_suffix(place: str) -> tuple[str, str]:
    format_, description = DESCRIPTIONS["suffixes"].get(Path(place).suffix, ("application/octet-stream", ""))
    return format_, description


def _description(place: str) -> str:
    path = Path(place)
    if path.parent.name == "agents":
        return "What one end of a transfer reported at its end."
    return DESCRIPTIONS["names"].get(path.name) or _of_suffix(place)[1] or f"{path.name}, see docs/contracts.md."


def _compact(entity: Mapping[str, Any]) -> dict[str, Any]:
    """A list of one as that one."""
    return {key: value[0] if isinstance(value, list) and len(value) == 1 else value for key, value in entity.items()}
