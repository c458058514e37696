"""A worker that any run ends."""

import os

from testbed.study.hosts import worker


def runs(*_: object) -> None:
    os._exit(1)


if __name__ == "__main__":
    worker.runs = runs  # type: ignore[assignment]
    worker.main()
