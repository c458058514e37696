"""Base of all parts of a scenario."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
CongestionControl = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,14}$")]
"""The kernel's name of one (TCP_CA_NAME_MAX)."""


class Section(BaseModel):
    """A part of a scenario; unknown keys are errors."""

    model_config = ConfigDict(
        extra="forbid", populate_by_name=False, frozen=True, arbitrary_types_allowed=True, allow_inf_nan=False
    )
