"""A worker on a host whose links take five milliseconds more than is asked."""

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
    links = json.loads(found["links"])
    links["rtts_ms"] = [rtt_ms + 5 for rtt_ms in links["rtts_ms"]]
    return [(Packed.of(json.dumps({**found, "links": json.dumps(links)}).encode()), seconds)]


if __name__ == "__main__":
    worker.examine = examine
    worker.main()
