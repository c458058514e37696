"""What killed runs left behind on this machine is removed before a run, too."""

from __future__ import annotations

from collections.abc import Callable

from testbed.runtime import live


def remove_leftovers(say: Callable[[str], object]) -> None:
    """Remove what killed runs left behind, and say so."""
    found = live.remove_leftovers(live.docker_client)
    for what in found.things:
        say(f"  left by a run that was killed: removed {what}")
    for problem in found.problems:
        say(f"  left by a run that was killed: {problem}")
