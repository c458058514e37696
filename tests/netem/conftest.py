"""Modules that measure in a guest."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.cli.junit import SECOND_TRY
from testbed.engines.vkernel import guest
from testbed.machine import build
from testbed.machine.guest_kernel import Kernel
from tests.conftest import GUEST_LIMIT_S


@pytest.fixture(scope="session")
def measured_by(
    request: pytest.FixtureRequest, exact_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Any]:
    """Run a module of this checkout in a guest: the JSON that it prints. Once more, which is counted, where a program
    span: that makes a run one that may not be judged. With another seed: with the same one, the same program would
    spin at the same time."""

    def run(module: str) -> Any:
        job, spins = boot(module, seed=1)
        if spins:
            print(spins)
            request._pyfuncitem.user_properties.append((SECOND_TRY, spins.splitlines()[0]))
            job, spins = boot(module, seed=2)
        assert not spins, "a program that spins makes results depend on the machine"
        return json.loads((job / "stdout").read_text())

    def boot(module: str, seed: int) -> tuple[Path, str]:
        build.build_programs()
        job: Path = tmp_path_factory.mktemp("job")
        ended = guest.boot(
            exact_kernel,
            job,
            f"{guest.ENVIRONMENT} /checkout/.venv/bin/python -m {module}",
            out=tmp_path_factory.mktemp("out"),
            seed=seed,
            limit_s=GUEST_LIMIT_S,
            tell=print,
        )
        assert ended.code == 0, (job / "stderr").read_text()[-3000:]
        return job, (job / "spins").read_text()

    return run


@pytest.fixture(scope="session")
def measured(measured_by: Callable[[str], Any]) -> dict[str, Any]:
    """What tests/netem/measure.py found, by middle: ``netem`` and ``relay``. The guest boots once for all of it."""
    found: dict[str, Any] = measured_by("tests.netem.measure")
    return found
