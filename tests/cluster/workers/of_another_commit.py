"""A worker that says that it is of another commit, with another package."""

import json
from collections.abc import Sequence

from testbed.plan.model import Middle
from testbed.study.cell import Target
from testbed.study.hosts import worker
from testbed.study.hosts.transfer import Packed
from testbed.study.hosts.worker import Answer, Failed

sound = worker.examine


def examine(targets: Sequence[Target], middle: Middle | None, submitter: str) -> list[tuple[Answer, float]]:
    [(answer, seconds)] = sound(targets, middle, submitter)
    if isinstance(answer, Failed):
        return [(answer, seconds)]
    found = json.loads(answer.checked())
    found["fingerprint"]["commit"] = "0123456789abcdef0123"
    found["fingerprint"]["packages"]["numpy"] = "0.0.1"
    return [(Packed.of(json.dumps(found).encode()), seconds)]


if __name__ == "__main__":
    worker.examine = examine
    worker.main()
