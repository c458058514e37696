"""A worker whose runs, once begun, stay on while there is a file ``hold`` on its disk, and take some time more."""

import os
import tempfile
import time
from pathlib import Path

from testbed.study.hosts import worker

sound = worker._run
# It has no other disk: where that is full, Python would turn to this machine's /tmp.
tempfile._candidate_tempdir_list = lambda: [os.environ["TMPDIR"]]  # type: ignore[attr-defined]


def one(job: bytes, host: str) -> bytes:
    time.sleep(float(os.environ.get("NCP_TEST_RUN_S", "0")))
    while (Path(os.environ["TMPDIR"]).parent / "hold").exists():
        time.sleep(0.05)
    return sound(job, host)


if __name__ == "__main__":
    worker._run = one
    worker.main()
