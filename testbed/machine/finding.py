"""The result of a probe of the machine."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Level = Literal["required", "optional", "fact"]
"""``required``: nothing that needs it runs without it; ``optional``: something is lost; ``fact``: only reported."""


class Probed(NamedTuple):
    """Answer of one probe: is it there, and what was seen (a version, a figure, the reason that it is not)."""

    ok: bool
    detail: str
    by_hand: bool = False
    """Not there, and for a cause that the playbook can't mend."""


@dataclass(frozen=True)
class Finding:
    """One requirement, probed."""

    name: str
    ok: bool
    detail: str
    fix: str
    level: Level
    why: str = ""
    tag: str | None = None
    """Tag of ``playbooks/provision.yml`` that installs it; None where a playbook can't help."""
