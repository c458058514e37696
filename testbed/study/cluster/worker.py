"""A worker as a program: ``python -m testbed.study.cluster.worker``."""

from __future__ import annotations


def main() -> None:
    """Until it is told to end."""
    # Not above: the process of each run imports this file, as its parent's, and Dask takes longer than a short run.
    from testbed.study.cluster.serve import serve

    serve()


if __name__ == "__main__":
    main()
