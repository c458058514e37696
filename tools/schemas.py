"""JSON Schemas of the plan, of what users write and of what results hold: ``python -m tools.schemas`` makes
``schemas/``, or another folder that is named."""

import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from testbed import paths
from testbed.documents import write_json
from testbed.judge.checks.parameters import CheckParameters
from testbed.scenario.section import Section

FOLDER = paths.CHECKOUT / "schemas"


class _AsWritten(GenerateJsonSchema):
    """A schema without defaults that nobody may write: of a quantity, a number in the model's unit; of a section, the
    model's own. Without titles, which repeat a key."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if "examples" in made or isinstance(made.get("default"), dict):
            made.pop("default", None)
        return made

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def documents() -> dict[str, dict[str, Any]]:
    """Each schema by its name."""
    # A key's docstring becomes its description. Runs don't wait for that: it is switched on before the models are made,
    # which is why they are imported here.
    Section.model_config["use_attribute_docstrings"] = True
    CheckParameters.model_config["use_attribute_docstrings"] = True
    from testbed.engines.events import Event
    from testbed.plan.model import Plan
    from testbed.scenario.model import Scenario
    from testbed.study.kinds.claims_file import Claims
    from testbed.study.kinds.sweep_file import Sweep
    from testbed.study.kinds.table_file import Table

    kinds: dict[str, Any] = {"plan": Plan, "scenario": Scenario, "table": Table, "sweep": Sweep, "claims": Claims}
    kinds["events"] = Event
    return {name: _schema(kind) for name, kind in kinds.items()} | _of_results()


def _of_results() -> dict[str, dict[str, Any]]:
    """Documents in result folders and bundles, by ``results/`` and their names; no key beyond these may be there."""
    from testbed.archive import pack
    from testbed.engines.provenance import Provenance
    from testbed.judge.checks.result import Verdict
    from testbed.study.checks import agrees, better
    from testbed.study.kinds import claims as all_run
    from testbed.study.kinds import table as table_run
    from testbed.study.kinds.same_bytes import Repetition

    kinds: dict[str, Any] = {
        "bundle": pack.Description,
        "claims": all_run.Document,
        "compare": better.Comparison,
        "hashes": list[Repetition],
        "provenance": Provenance,
        "table": table_run.Document,
        "verdict": Verdict,
    }
    made = {f"results/{name}": _closed(_schema(kind)) for name, kind in kinds.items()}
    made["results/cross-check"] = _closed(_schema(agrees.CrossCheck, "serialization"))
    verdict = made["results/verdict"]  # the model's field has a longer name, as pydantic has a `schema`
    verdict["properties"] = {"schema": verdict["properties"].pop("schema_version"), **verdict["properties"]}
    verdict["required"].insert(0, "schema")
    return made


def _closed(schema: Any) -> Any:
    """The schema without room for keys that it does not name."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        closed["additionalProperties"] = False
    return closed


def _schema(kind: Any, mode: Literal["validation", "serialization"] = "validation") -> dict[str, Any]:
    made = TypeAdapter(kind).json_schema(mode=mode, schema_generator=_AsWritten)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def main(folder: Path) -> None:
    """Write the files."""
    for name, schema in documents().items():
        path = folder / f"{name}.schema.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, schema)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
