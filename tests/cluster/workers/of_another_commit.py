"""A worker that says that it is of another commit, with another package."""

import pickle
from collections.abc import Sequence
from dataclasses import replace

from testbed.study.cluster import work, worker
from testbed.study.cluster.packed import Packed
from testbed.study.cluster.work import Answer, Failed
from testbed.study.executor import Way

sound = work.canary


def canary(ways: Sequence[Way], submitter: str) -> Answer:
    answer = sound(ways, submitter)
    if isinstance(answer, Failed):
        return answer
    found = pickle.loads(answer.checked())
    packages = {**found.common["packages"], "numpy": "0.0.1"}
    common = {**found.common, "commit": "0123456789abcdef0123", "packages": packages}
    return Packed.of(pickle.dumps(replace(found, common=common)))


if __name__ == "__main__":
    work.canary = canary
    worker.main()
