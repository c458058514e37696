"""Modules that measure in a guest."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed import build
from testbed.doctor.guest_kernel import Kernel
from testbed.engines.vkernel import guest
from tests.conftest import GUEST_LIMIT_S


@pytest.fixture(scope="session")
def measured_by(exact_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """Run a module of this checkout in a guest: the JSON that it prints."""

    def run(module: str) -> Any:
        build.build_programs()
        job: Path = tmp_path_factory.mktemp("job")
        ended = guest.boot(
            exact_kernel,
            job,
            f"{guest.ENVIRONMENT} /checkout/.venv/bin/python -m {module}",
            out=tmp_path_factory.mktemp("out"),
            seed=1,
            limit_s=GUEST_LIMIT_S,
            told=print,
        )
        assert ended.code == 0, (job / "stderr").read_text()[-3000:]
        assert ended.spins == 0, "a program that spins makes results depend on the machine"
        return json.loads((job / "stdout").read_text())

    return run


@pytest.fixture(scope="session")
def measured(measured_by: Callable[[str], Any]) -> dict[str, Any]:
    """What tests/netem/measure.py found, by middle: ``netem`` and ``relay``. The guest boots once for all of it."""
    found: dict[str, Any] = measured_by("tests.netem.measure")
    return found
