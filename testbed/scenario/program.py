"""The section ``program`` of a scenario: a transport of the user's own, as a command or an image (docs/program.md)."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from testbed.message import InvalidValue
from testbed.scenario.quantities import DurationSeconds, SizeBytes
from testbed.scenario.section import CongestionControl, Name, Section

MOST_BYTES = 256 << 20
"""Largest transfer: both hosts' machine holds it as a file."""
MOST_SECONDS = 3600
SET_BY_THE_TESTBED = ("ROLE", "TESTCASE", "LOCAL", "REMOTE", "PORT", "BYTES", "SECONDS", "SEED", "IN", "OUT")
"""Environment variables of the contract with a program."""


def _words(value: Any) -> Any:
    return shlex.split(value) if isinstance(value, str) else value


class Program(Section):
    """One transfer by a program that is started at both ends: over every link, from the first host to the second."""

    command: (
        Annotated[list[str], BeforeValidator(_words, json_schema_input_type=str | list[str]), Field(min_length=1)]
        | None
    ) = None
    """Command as you would type it in ``folder``, which is the program's working folder."""
    folder: str = "."
    """Relative to the scenario's file; the program sees this folder, and can't change it."""
    image: str | None = Field(None, min_length=1)
    """Instead of a command: an image that the Docker engine has, whose entry point is the program."""
    name: Name | None = None
    """Name in results; default: that of the command or the image."""
    transport: Literal["udp", "tcp"] = "udp"
    """The program's sockets: decides which are sampled, and how much of a full frame is payload."""
    congestion_control: CongestionControl = "cubic"
    """The kernel's, of TCP connections for which the program asks for no other."""
    transfer_bytes: Annotated[SizeBytes, Field(ge=1, le=MOST_BYTES)] | None = Field(None, alias="transfer")
    for_s: Annotated[DurationSeconds, Field(gt=0, le=MOST_SECONDS)] | None = Field(None, alias="for")
    """Instead of a number of bytes: how long the sender sends."""
    environment: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")], str] = Field(
        default_factory=dict, max_length=64
    )
    """Further variables that both ends get."""

    @field_validator("environment")
    @classmethod
    def _not_the_contracts(cls, environment: dict[str, str]) -> dict[str, str]:
        for name in environment:
            if name in SET_BY_THE_TESTBED:
                raise InvalidValue("program.reserved-variable", f"{name} is set by the testbed; choose another name")
        return environment

    @model_validator(mode="after")
    def _one_of_each(self) -> Program:
        if (self.command is None) == (self.image is None):
            raise InvalidValue("program.command-or-image", "give either command, for example python3 mine.py, or image")
        if (self.transfer_bytes is None) == (self.for_s is None):
            raise InvalidValue(
                "program.transfer-or-for", "give either transfer, for example 4MiB, or for, for example 10s"
            )
        return self
