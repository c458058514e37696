"""What came of judging a result folder again."""

from __future__ import annotations

from dataclasses import dataclass, field

from testbed.message import Message


@dataclass(frozen=True)
class Verified:
    """A result folder, judged again. ``differences`` are from what it holds; ``unchecked`` is what could not
    be made again, and why: it is not confirmed; ``notes`` say what was done."""

    name: str
    verdict: str
    differences: list[Message] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    unchecked: list[Message] = field(default_factory=list)
    unreadable: bool = False
    """Whether a file that all else is made of is missing or broken: the only difference says which."""

    def take(self, other: Verified, where: str = "") -> None:
        """What was found of a part is found of the whole; ``where`` names the part."""
        self.differences.extend(found.at(where) if where else found for found in other.differences)
        self.unchecked.extend(found.at(where) if where else found for found in other.unchecked)
