"""``corrupt``: one bit of a frame arrives flipped. The host that receives it drops it by its checksum.

With netem the bit may lie in the Ethernet header, and then nobody takes the frame.
"""

from topologies.impairments.impairment import SHARE, Asked, Impairment, Share, percent
from topologies.typed_dict import TypedDict


class Corrupt(TypedDict, total=False):
    """The share of the frames."""

    corrupt: Share


def netem(requested: Asked) -> list[str]:
    return ["corrupt", percent(requested.get("corrupt", 0.0))]


IMPAIRMENT = Impairment(keys=Corrupt, effects={"corrupt": ("spoils",)}, written=SHARE, netem=netem)
