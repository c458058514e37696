"""A guest kernel for the tests: the one with virtual time where it is built, Debian's otherwise."""

import os

import pytest

from testbed.errors import CannotRun
from testbed.runner.progress import Progress
from testbed.vkernel import kernel
from testbed.vkernel.build import build
from testbed.vkernel.kernel import Kernel


@pytest.fixture(scope="session")
def exact_kernel() -> Kernel:
    """The kernel with virtual time. Tests build it only where NCP_TESTBED_TEST_KERNEL=build says so: it takes
    minutes."""
    if kernel.built() is None and os.environ.get("NCP_TESTBED_TEST_KERNEL") == "build":
        build(Progress())
    program = kernel.built()
    if program is None:
        pytest.skip("the guest kernel is not built (./run.sh doctor --build)")
    return Kernel(program, exact=True)


@pytest.fixture(scope="session")
def any_kernel() -> Kernel:
    """Whichever there is."""
    try:
        return kernel.chosen()
    except CannotRun as error:
        pytest.skip(error.message)
