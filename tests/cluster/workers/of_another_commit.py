"""A worker that says that it is of another commit, with another package."""

import pickle
from collections.abc import Sequence
from dataclasses import replace

from testbed.study.cell import Target
from testbed.study.hosts import worker
from testbed.study.hosts.transfer import Packed
from testbed.study.hosts.worker import Answer, Failed

sound = worker.canary


def canary(targets: Sequence[Target], submitter: str) -> Answer:
    answer = sound(targets, submitter)
    if isinstance(answer, Failed):
        return answer
    found = pickle.loads(answer.checked())
    packages = {**found.environment["packages"], "numpy": "0.0.1"}
    environment = {**found.environment, "commit": "0123456789abcdef0123", "packages": packages}
    return Packed.of(pickle.dumps(replace(found, environment=environment)))


if __name__ == "__main__":
    worker.canary = canary
    worker.main()
