"""What every study does before its first run."""

from __future__ import annotations

from testbed.engines import Engine, Options, Programs
from testbed.machine import Need
from testbed.runtime.progress import Progress


def ready(
    engine: Engine, options: Options, progress: Progress, command: str, further: frozenset[Need] = frozenset()
) -> Programs:
    """The checkout's programs, on a machine that can make runs on an engine and has nothing left of killed ones.

    ``command`` is what was asked for, ``further`` what it needs beyond its runs.

    Raises:
        CannotRun: this machine, or this user, can't make such runs.
    """
    engine.refuse_user(command)
    engine.refuse_options(options)
    programs = engine.prepare(progress, options.runtime or "docker", further=further)
    engine.clear(progress.say)
    return programs
