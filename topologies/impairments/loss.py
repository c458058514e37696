"""``loss`` and ``burst_loss``: frames are lost, each for itself (``loss``, which every link of a plan has) or in bursts
(``gilbert_elliott``)."""

from collections.abc import Mapping
from typing import Any

from topologies.impairments.impairment import Asked, Impairment, Share, percent
from topologies.typed_dict import TypedDict


class GilbertElliott(TypedDict):
    """Bursty loss by two states; all fractions."""

    enter: Share
    leave: Share
    loss_good: Share
    loss_bad: Share


class Loss(TypedDict, total=False):
    """A loss model in place of independent loss of each frame."""

    gilbert_elliott: GilbertElliott


def with_change(requested: Asked, change: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration after a change of a part. Of both loss models the changed one replaces the other, as in
    ``internal/linkmodel``."""
    after = {**requested, **change}
    if "gilbert_elliott" in change:
        after["loss"] = 0.0
    elif "loss" in change:
        after.pop("gilbert_elliott", None)
    return after


def netem(requested: Asked) -> list[str]:
    """Loss by two states is drawn before the state moves, ``internal/linkmodel`` does it after: the same process one
    frame apart."""
    bursts = requested.get("gilbert_elliott")
    if bursts is None:
        return ["loss", percent(requested["loss"])]
    shares = (bursts["enter"], bursts["leave"], bursts.get("loss_bad", 1.0), bursts.get("loss_good", 0.0))
    return ["loss", "gemodel", *(percent(share) for share in shares)]


IMPAIRMENT = Impairment(keys=Loss, effects={"loss": ("drops",), "gilbert_elliott": ("drops", "varies")}, netem=netem)
