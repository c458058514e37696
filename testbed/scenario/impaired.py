"""Keys of a scenario for the impairments that are a single number, from their own files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, create_model

from testbed.scenario.quantities import written
from topologies.impairments import NUMBERS
from topologies.impairments.impairment import Impairment, bounds

Model = TypeVar("Model", bound=BaseModel)


def impaired(default: float | None) -> Callable[[type[Model]], type[Model]]:
    """A model with a key for each, ``default`` where nothing is said."""

    def with_keys(model: type[Model]) -> type[Model]:
        kinds = {key: _kind(key, impairment) for key, impairment in NUMBERS.items()}
        keys: dict[str, Any] = {key: (kind | None if default is None else kind, default) for key, kind in kinds.items()}
        return create_model(model.__name__, __base__=model, __doc__=model.__doc__, __module__=model.__module__, **keys)

    return with_keys


def _kind(key: str, impairment: Impairment) -> Any:
    kind = impairment.types()[key]
    if quantity := impairment.written:
        read, schema = BeforeValidator(quantity.parse), written(quantity.description, *quantity.examples)
        return Annotated[kind, read, schema]
    within = bounds(kind)
    assert within
    return Annotated[kind, Field(ge=0, le=within.most)]
