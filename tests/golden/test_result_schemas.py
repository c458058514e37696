"""Documents in results and bundles keep to ``schemas/results/``: those of today and those that earlier code made."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from testbed import paths
from testbed.archive.pack import pack
from testbed.judge.status import Status, current, current_comparison
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from testbed.study.checks import better
from testbed.study.checks.agrees import Agreement, Deviation
from testbed.study.kinds import claims as all_run
from testbed.study.kinds import same_bytes
from testbed.study.kinds import table as table_run
from testbed.study.kinds import table_file as tables
from testbed.study.kinds.claims_file import load as load_claims
from testbed.study.kinds.compare import read_run
from testbed.study.kinds.same_bytes import digests
from testbed.study.report import page
from tests.bundle.old_bundles import files, opened
from tests.ready import simulated as prepare
from tools.schemas import FOLDER

SCHEMAS = {
    file.name.removesuffix(".schema.json") + ".json": Draft202012Validator(json.loads(file.read_text(encoding="utf-8")))
    for file in sorted((FOLDER / "results").glob("*.json"))
}
"""By the document's name."""
OLDEST = "runs/startup/sim-ab42ae18c27a/provenance.json: $: '{}' is a required property"
BEFORE = {
    "schema-1": [OLDEST.format("schema"), OLDEST.format("code")],
    "reference": ["speed-table-2026-11-21/table.json: $: 'plots' is a required property"],
}
"""Keys that came later."""


def wrong(folder: Path) -> tuple[set[str], list[str]]:
    """The documents below a folder that a schema is of, and what in them is not by it."""
    names, told = set(), []
    for path in sorted(folder.rglob("*.json")):
        if path.name in SCHEMAS:
            names.add(path.name)
            told += [f"{path.relative_to(folder)}: {text}" for text in errors(path)]
    return names, told


def as_read(name: str, document: Any) -> Any:
    """A document of an earlier schema as today's code reads it: with today's statuses."""
    if name not in ("verdict.json", "table.json", "claims.json", "compare.json"):
        return document
    read = current_comparison if name == "compare.json" else current
    return read(document, SCHEMAS[name].schema["properties"]["schema"]["const"])


def errors(path: Path) -> Iterator[str]:
    document = as_read(path.name, json.loads(path.read_text(encoding="utf-8")))
    for error in SCHEMAS[path.name].iter_errors(document):
        yield f"{error.json_path}: {error.message[:200]}"


@pytest.mark.parametrize("file", [file for file in files() if file.stem != "interop"], ids=lambda file: file.stem)
def test_old_results_keep_to_them(file: Path) -> None:
    with opened(file) as place:
        names, told = wrong(place)
    assert names >= {"bundle.json", "verdict.json"}
    assert [text for text in told if text not in BEFORE.get(file.stem, ())] == []


def test_reference_results_keep_to_them() -> None:
    names, told = wrong(paths.CHECKOUT / "data" / "reference")
    assert names >= {"claims.json", "table.json", "verdict.json", "provenance.json"}
    assert told == BEFORE["reference"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small ones of every kind, by today's code."""
    place = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NCP_TESTBED_RESULTS", str(place))
        patch.setenv("NCP_TESTBED_STATE", str(place / "state"))
        patch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
        run = prepare(load("startup", ["ncp.transfer=512KiB"]), Progress(), seed=None, quick=False)
        run.execute()
        asked = table_run.TableRequest(repeat=1, rows="1", columns="nkp24,mptcp", engine="sim")
        table_run.run(tables.load("speed-table", ["ncp.transfer=512KiB"]), asked)
        pack([run.folder], place / "bundle.zip")
        with opened(place / "bundle.zip") as unpacked:
            (place / "bundle.json").write_bytes((unpacked / "bundle.json").read_bytes())
    runs = [read_run(run.folder)]
    groups = [better.Group.of(name, runs) for name in ("base", "new")]
    page.write_comparison(place / "compare", better.judge(groups, 0.95, name="compare", command="compare"))
    deviations = [
        Deviation("s1", "goodput_bps", 1.0, None, None, 0.03, "goodput"),
        Deviation("s1", "share", 1, 1, 0, 0.03, "share"),
    ]
    agrees = Agreement(
        "startup", "Startup", {"sim": run.folder}, deviations, (), ("busy",), "broken", {"sim": Status.PASS}
    )
    page.write_cross_check(place / "cross-check", [agrees], {"ndn": "no kernel"})
    repeated = same_bytes.judge("startup", [digests(run.folder)] * 2, [1], {"telemetry.lp": "other"})
    (place / "hashes.json").write_text(json.dumps([asdict(repeated)]))
    (place / "all").mkdir()
    all_run.write(load_claims(), all_run.Request("sim", quick=True), place / "all", {}, complete=True)
    return place


def test_results_of_today_keep_to_them(results: Path) -> None:
    names, told = wrong(results)
    assert names == set(SCHEMAS)
    assert told == []


def objects(document: Any, schema: Any, root: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object of a document that its schema names all keys of, and which part of the schema that is."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if isinstance(document, dict) and schema.get("additionalProperties") is False:
        yield id(schema), document
    parts = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in parts:
        inner = schema.get("properties", {}).get(key) if isinstance(document, dict) else schema.get("items")
        further = schema.get("additionalProperties")
        inner = inner or (further if isinstance(further, dict) else None)
        if inner:
            yield from objects(value, inner, root)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_key_more_is_seen_wherever_it_is(results: Path, name: str) -> None:
    path = next(results.rglob(name))
    document = json.loads(path.read_text(encoding="utf-8"))
    # One of each part of the schema: where there are a hundred claims, the hundredth is held to what the first is.
    closed = list(dict(objects(document, SCHEMAS[name].schema, SCHEMAS[name].schema)).values())
    assert closed
    for part in closed:
        part["more"] = 1
        assert [error for error in SCHEMAS[name].iter_errors(document) if "'more' was unexpected" in error.message]
        del part["more"]
    assert not list(SCHEMAS[name].iter_errors(document))
    removed = closed[0].pop(next(iter(closed[0])))
    assert list(SCHEMAS[name].iter_errors(document)), removed
