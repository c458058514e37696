"""``duplicate``: a frame arrives twice. With netem the second draws a delay and a loss of its own."""

from topologies.impairments.impairment import SHARE, Asked, Impairment, Share, percent
from topologies.typed_dict import TypedDict


class Duplicate(TypedDict, total=False):
    """The share of the frames."""

    duplicate: Share


def netem(requested: Asked) -> list[str]:
    return ["duplicate", percent(requested.get("duplicate", 0.0))]


IMPAIRMENT = Impairment(keys=Duplicate, effects={"duplicate": ("copies", "varies")}, written=SHARE, netem=netem)
