"""A worker that any run ends."""

import os

from testbed.study.cluster import work, worker


def runs(*_: object) -> None:
    os._exit(1)


if __name__ == "__main__":
    work.runs = runs  # type: ignore[assignment]
    worker.main()
