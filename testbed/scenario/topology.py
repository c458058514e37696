"""The topology that a scenario names, or a Mininet topology of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from testbed.scenario.section import Section

KEYS_OF_TOPOLOGY = {
    "parallel": (),
    "relays": (),
    "dumbbell": ("sessions", "access", "cross_traffic"),
    "star": ("sessions", "cross_traffic"),
    "chain": (),
    "custom": ("sessions", "cross_traffic"),
}
"""The keys of a scenario that only some topologies have."""


class Topology(Section):
    """One of the testbed's own, written as its name, or ``{file, class}``: a Mininet ``Topo`` in a Python file."""

    kind: Literal["parallel", "relays", "dumbbell", "star", "chain", "custom"]
    file: Path | None = None
    """Relative to the scenario's folder."""
    class_name: str | None = Field(None, alias="class")
    options: dict[str, Any] = Field(default_factory=dict)
    """Keyword arguments of the class."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """A name alone, or a mapping without ``kind``."""
        mapping = handler.resolve_ref_schema(handler(schema))
        kind = mapping["properties"].pop("kind")
        own = {**mapping, "required": ["file", "class"]}
        return {"anyOf": [{"enum": [name for name in kind["enum"] if name != "custom"]}, own]}

    @model_validator(mode="before")
    @classmethod
    def _just_a_name(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"kind": value}
        if isinstance(value, dict) and "kind" not in value:
            return {**value, "kind": "custom"}
        return value

    @model_validator(mode="after")
    def _file_and_class(self) -> Topology:
        custom = self.kind == "custom"
        if custom != (self.file is not None) or custom != (self.class_name is not None):
            raise ValueError("a topology of your own is {file: my_topo.py, class: MyTopo}, with both")
        return self
