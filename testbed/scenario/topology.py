"""The topology that a scenario names, or a Mininet topology of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from testbed.message import InvalidValue
from testbed.scenario.section import Section
from topologies.shapes import SHAPES
from topologies.shapes.shape import Shape

NAMED_HOSTS = Shape(keys=("sessions", "cross_traffic"), hosts_are_named=True)
KINDS: Mapping[str, Shape] = {**SHAPES, "graph": NAMED_HOSTS, "custom": NAMED_HOSTS}
"""Sections that a scenario may have with each topology. The user's own are ``graph``, whose links name their ends, and
``custom``, a Mininet ``Topo``."""
OWN = ("graph", "custom")

if TYPE_CHECKING:
    Kind: TypeAlias = str
else:
    Kind = Literal[tuple(KINDS)]


class Topology(Section):
    """One of the testbed's own, written as its name, or ``{file, class}``: a Mininet ``Topo`` in a Python file."""

    kind: Kind
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
        if not isinstance(value, (dict, Topology)):
            raise InvalidValue(
                "topology.no-name", f"give one of {', '.join(SHAPES)}, graph, or a Mininet Topo: file, class"
            )
        return value

    @property
    def shape(self) -> Shape:
        """Sections that are permitted with the topology."""
        return KINDS[self.kind]

    @property
    def is_own(self) -> bool:
        """Whether the user made it, and sessions tell their paths over its links."""
        return self.kind in OWN

    @model_validator(mode="after")
    def _file_and_class(self) -> Topology:
        custom = self.kind == "custom"
        if custom != (self.file is not None) or custom != (self.class_name is not None):
            raise InvalidValue(
                "topology.file-and-class", "a topology of your own is {file: my_topo.py, class: MyTopo}, with both"
            )
        return self
