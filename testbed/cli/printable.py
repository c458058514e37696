"""Text from a result or a scenario, before it is printed."""

from __future__ import annotations

import re

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: object) -> str:
    """The text with control characters, which could move a terminal's cursor or overwrite a verdict, as Python writes
    them."""
    return CONTROL.sub(lambda found: repr(found[0])[1:-1], str(text))
