"""A worker whose answers break where they are read."""

import operator
from collections.abc import Callable

from testbed.study.hosts import worker


class Unreadable:
    """Its serialization says: divide by zero."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[int, int]]:
        return operator.truediv, (1, 0)


def runs(*_: object) -> Unreadable:
    return Unreadable()


if __name__ == "__main__":
    worker.runs = runs  # type: ignore[assignment]
    worker.main()
