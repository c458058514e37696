"""Links as a scenario describes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, Field, create_model, field_validator, model_validator

from testbed.message import InvalidValue
from testbed.scenario.quantities import DelayMilliseconds, Fraction, LinkRate, QueueLimit, SizeBytes, written
from testbed.scenario.section import Name, Section
from topologies.impairments import NUMBERS
from topologies.impairments.impairment import SHARE, Impairment, bounds
from topologies.impairments.loss import GilbertElliott
from topologies.link import Impairments, QueueMode
from topologies.units import QueueLength

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
    if impairment.written is SHARE:
        return Fraction
    if quantity := impairment.written:
        read, schema = BeforeValidator(quantity.parse), written(quantity.description, *quantity.examples)
        return Annotated[kind, read, schema]
    within = bounds(kind)
    assert within
    return Annotated[kind, Field(ge=0, le=within.most)]


class Queue(Section):
    """The queue for a link's rate. ``backpressure``: at the sender, whose write blocks when it is full (the proposal's
    own link model); the others: in the middle of the link, where a full queue drops."""

    limit: QueueLimit = QueueLength(bdp=1.0)
    mode: QueueMode = "backpressure"


class Jitter(Section):
    """Random delay that is added to each frame's. One of ``uniform`` (half-width), ``normal`` (standard deviation) or
    ``file`` (samples in milliseconds, one per line)."""

    uniform_ms: DelayMilliseconds | None = Field(None, alias="uniform")
    normal_ms: DelayMilliseconds | None = Field(None, alias="normal")
    file: Path | None = None
    reorders: bool = False
    """Whether a frame may overtake one with more jitter, as on a path of many queues; else it waits its turn."""

    @model_validator(mode="after")
    def _one_kind(self) -> Jitter:
        given = [kind for kind in (self.uniform_ms, self.normal_ms, self.file) if kind is not None]
        if len(given) != 1:
            raise InvalidValue("link.one-jitter", "give one of uniform, normal and file, for example {uniform: 5ms}")
        return self


class BurstLoss(Section):
    """Loss by Gilbert's and Elliott's two states: each frame may enter or leave the bad one."""

    enter: Fraction
    leave: Fraction
    loss_good: Fraction = 0.0
    loss_bad: Fraction = 1.0

    @field_validator("leave")
    @classmethod
    def _ends(cls, leave: float) -> float:
        if leave <= 0:
            raise InvalidValue("link.endless-bad-state", "0 would never leave the bad state; use more than 0%")
        return leave


def _or_just(section: type[Section], key: str, kind: Any) -> BeforeValidator:
    """A text may stand for the section with this one key, of this type."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value, kind | section)


@impaired(0.0)
class Link(Section):
    """One emulated link between the two hosts; the same in both directions. The delay is one-way."""

    name: Name
    """Name in checks, timeline and results."""
    ends: tuple[Name, Name] | None = None
    """The two nodes that it connects, with topology ``graph``."""
    rate: LinkRate
    """Rate in each direction; a number of packets/s is of full-size frames."""
    delay_ms: DelayMilliseconds = Field(0.0, alias="delay")
    """One-way; 0 if left out."""
    queue: Annotated[Queue, _or_just(Queue, "limit", QueueLimit)] = Field(default_factory=Queue)
    """Number of packets that may wait for the rate, and place of the queue."""
    burst_bytes: SizeBytes | None = Field(None, alias="burst", le=64 << 20)
    """Bytes that may leave at once after idling, as fast as the machine can: the rate's token bucket, where it should
    hold more than the shaper needs anyway."""
    loss: Fraction = 0.0
    """The share of frames lost, in each direction independently."""
    burst_loss: BurstLoss | None = None
    """Losses that come in bursts."""
    jitter: Annotated[Jitter, _or_just(Jitter, "uniform", DelayMilliseconds)] | None = None
    """A random delay added to each frame's; frames keep their order unless it says otherwise."""
    copies: int = Field(1, ge=1, le=64)
    """Number of such links: ``name-1``, ``name-2``, …; a single one is just ``name``."""
    trace: Path | None = None
    """Delivery opportunities in mahimahi's format, instead of a constant rate (only with a queue in the middle)."""

    @field_validator("loss")
    @classmethod
    def _something_arrives(cls, loss: float) -> float:
        if loss >= 1:
            raise InvalidValue(
                "link.loses-everything", "a link that loses everything carries no transfer; use less than 100%"
            )
        return loss

    @model_validator(mode="after")
    def _fits_together(self) -> Link:
        if self.ends and self.ends[0] == self.ends[1]:
            raise InvalidValue(
                "link.leads-to-itself", f"link {self.name!r} leads from {self.ends[0]} to itself; name two nodes"
            )
        if self.burst_loss and self.loss:
            raise InvalidValue("link.loss-twice", f"link {self.name!r} has loss and burst_loss; give one of them")
        if self.trace and self.queue.mode == "backpressure":
            raise InvalidValue(
                "link.trace-and-backpressure",
                f"link {self.name!r} has a trace, which paces frames in the middle of the link, and a queue at the "
                "sender; set queue to {limit: …, mode: droptail}",
            )
        return self

    def each(self) -> list[Link]:
        """The links that it stands for."""
        if self.copies == 1:
            return [self]
        names = [f"{self.name}-{number}" for number in range(1, self.copies + 1)]
        return [self.model_copy(update={"name": name, "copies": 1}) for name in names]

    def impairments(self, folder: Path) -> Impairments:
        """The link's properties as the plan has them; files are named relative to the scenario's folder."""
        jitter = self.jitter
        kind: Literal["normal", "uniform"] = "normal" if jitter and jitter.normal_ms is not None else "uniform"
        found: Impairments = {
            "jitter_ms": (jitter.normal_ms or jitter.uniform_ms or 0.0) if jitter else 0.0,
            "jitter": "samples" if jitter and jitter.file else kind,
            "jitter_file": str((folder / jitter.file).resolve()) if jitter and jitter.file else "",
            "jitter_reorders": bool(jitter and jitter.reorders),
            "trace_file": str((folder / self.trace).resolve()) if self.trace else "",
        }
        if self.burst_loss:
            found["gilbert_elliott"] = cast(GilbertElliott, self.burst_loss.model_dump())
        all_ = {**found, **{key: getattr(self, key) for key in NUMBERS}}
        return cast(Impairments, {key: value for key, value in all_.items() if value and value != "uniform"})
