"""``reorder``: a frame skips the delay, and so overtakes others."""

from topologies.impairments.impairment import SHARE, Asked, Impairment, Share, percent
from topologies.typed_dict import TypedDict


class Reorder(TypedDict, total=False):
    """The share of the frames."""

    reorder: Share


def netem(requested: Asked) -> list[str]:
    return ["reorder", percent(requested.get("reorder", 0.0))]


IMPAIRMENT = Impairment(keys=Reorder, effects={"reorder": ("hastens", "varies")}, written=SHARE, netem=netem)
