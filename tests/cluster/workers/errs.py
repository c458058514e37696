"""A worker whose runs end with an error that is the program's own."""

from collections.abc import Sequence

from testbed.study.hosts import worker
from testbed.study.hosts.worker import Answer, Failed


def runs(jobs: Sequence[bytes], submitter: str) -> list[tuple[Answer, float]]:
    error = Failed(ZeroDivisionError("in a rule"), "Traceback: line 7 of the rule", of_the_host=False)
    return [(error, 0.1) for _ in jobs]


if __name__ == "__main__":
    worker.runs = runs
    worker.main()
