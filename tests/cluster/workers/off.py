"""A worker on a host whose links take five milliseconds more than is asked."""

import pickle

from testbed.plan.model import Middle
from testbed.study.hosts import worker
from testbed.study.hosts.transfer import Packed
from testbed.study.hosts.worker import Answer, Failed

sound = worker.links


def links(middle: Middle, submitter: str) -> Answer:
    answer = sound(middle, submitter)
    if isinstance(answer, Failed):
        return answer
    measured = pickle.loads(answer.checked())
    longer = measured.model_copy(update={"rtts_ms": [rtt_ms + 5 for rtt_ms in measured.rtts_ms]})
    return Packed.of(pickle.dumps(longer))


if __name__ == "__main__":
    worker.links = links
    worker.main()
