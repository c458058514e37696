"""A worker whose runs end with an error that is the program's own."""

from collections.abc import Sequence

from testbed.study.cluster import work, worker
from testbed.study.cluster.work import Answer, Failed


def runs(study: bytes, keys: Sequence[bytes], submitter: str) -> list[tuple[Answer, float]]:
    error = Failed(ZeroDivisionError("in a rule"), "Traceback: line 7 of the rule", of_the_host=False)
    return [(error, 0.1) for _ in keys]


if __name__ == "__main__":
    work.runs = runs
    worker.main()
