"""The committed JSON Schemas: those of the models; what is shipped keeps to them, and what is wrong does not."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from testbed import paths
from testbed.cli.new import TEMPLATE
from testbed.planning.resolve import Choices, resolve
from testbed.scenario import bounded
from testbed.scenario.files import scenarios
from testbed.scenario.load import load
from tests.plan.test_resolve import POLICIES
from tools.schemas import FOLDER

SHIPPED = {
    "scenario": [*paths.SCENARIOS.glob("*.yaml"), *paths.SCENARIOS.glob("links/*.yaml")],
    "table": list(paths.SCENARIOS.glob("tables/*.yaml")),
    "sweep": list(paths.SCENARIOS.glob("sweeps/*.yaml")),
    "claims": [paths.CHECKOUT / "data" / "published" / "claims.yaml"],
}
MARK = "# yaml-language-server: $schema="
MARKED = [
    path
    for folder in ("examples", "peers", "data", "scenarios", "testbed", "tests")
    for path in sorted((paths.CHECKOUT / folder).rglob("*.yaml"))
    if path.read_text(encoding="utf-8").startswith(MARK)
]
"""Files that name their schema, for editors, wherever they are."""


def schema_of(kind: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((FOLDER / f"{kind}.schema.json").read_text()))


def document_of(path: Path) -> Any:
    return bounded.load(path.read_text(), most_characters=1 << 18)


def test_the_committed_schemas_are_those_of_the_models(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "tools.schemas", str(tmp_path)], cwd=paths.CHECKOUT, check=True)
    made, committed = (
        {file.relative_to(folder): file.read_text() for file in folder.rglob("*.json")} for folder in (tmp_path, FOLDER)
    )
    del committed[Path("qlog.schema.json")]  # by hand
    assert made == committed, "python -m tools.schemas makes them"


def named_by(path: Path) -> Path:
    return (path.parent / path.read_text().split("\n", 1)[0].removeprefix(MARK)).resolve()


@pytest.mark.parametrize("kind", SHIPPED)
def test_shipped_files_name_their_schema(kind: str) -> None:
    validator = schema_of(kind)
    validator.check_schema(validator.schema)
    assert SHIPPED[kind]
    assert {path: named_by(path) for path in SHIPPED[kind]} == dict.fromkeys(
        SHIPPED[kind], FOLDER / f"{kind}.schema.json"
    )


@pytest.mark.parametrize("path", MARKED, ids=lambda path: str(path.relative_to(paths.CHECKOUT)))
def test_a_file_keeps_to_the_schema_that_it_names(path: Path) -> None:
    validator = Draft202012Validator(json.loads(named_by(path).read_text()))
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document_of(path))] == []


def test_what_new_writes_keeps_to_the_schema_of_scenarios() -> None:
    document = bounded.load(TEMPLATE.read_text().format(name="mine"))
    assert [f"{error.json_path}: {error.message}" for error in schema_of("scenario").iter_errors(document)] == []


@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        ("scenario", lambda d: d.update(titel=d.pop("title"))),
        ("scenario", lambda d: d["links"][0].update(rate=1024)),
        ("scenario", lambda d: d["links"][0].update(queue={"mode": "red"})),
        ("scenario", lambda d: d["checks"][0].update(judge="follows_the_law")),
        ("scenario", lambda d: d.update(topology="ring")),
        ("scenario", lambda d: d["ncp"].update(mtu=9000)),
        ("table", lambda d: d.pop("cells")),
        ("table", lambda d: d["rows"][0].update(repeat=0)),
        ("sweep", lambda d: d.update(seeds="many")),
        ("claims", lambda d: next(iter(d["claims"].values())).update(kind="rumour")),
    ],
)
def test_what_is_wrong_does_not_keep_to_its_schema(kind: str, edit: Callable[[Any], object]) -> None:
    path = next(path for path in SHIPPED[kind] if kind != "scenario" or path.stem == "startup")
    document = document_of(path)
    edit(document)
    assert not schema_of(kind).is_valid(document)


def test_plans_keep_to_their_schema_and_have_no_key_beside_it() -> None:
    schema = json.loads((FOLDER / "plan.schema.json").read_text())
    for part in (schema, *schema["$defs"].values()):
        part.setdefault("additionalProperties", "properties" not in part)
    validator = Draft202012Validator(schema)
    resolved = 0
    for path in scenarios():
        loaded = load(str(path))
        if loaded.scenario.topology.file or (loaded.scenario.ncp and loaded.scenario.ncp.policy not in POLICIES):
            continue
        plan = json.loads(json.dumps(resolve(loaded, POLICIES, Choices(), "20261122-000000-abcd")))
        assert [f"{path}: {error.json_path}: {error.message}" for error in validator.iter_errors(plan)] == []
        resolved += 1
    assert resolved >= 10
