"""The step of ``./run.sh test`` that builds the guest kernel, where it can be built: tests are skipped elsewhere.

``python -m tests.vkernel.kernel_for_tests``
"""

from testbed.engines.vkernel.build import ready_kernel
from testbed.machine import guest_kernel as kernel
from testbed.runtime.progress import Progress


def main() -> None:
    """Build it, or say why not."""
    if kernel.built() is None and (lacking := kernel.why_not_buildable()):
        print(f"not built: tests that need it are skipped. {lacking}")
        return
    ready_kernel(Progress())


if __name__ == "__main__":
    main()
