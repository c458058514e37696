"""A guest boots once for all that is measured in it."""

from pathlib import Path
from typing import Any

import pytest

from testbed import build
from tests.kernel.guest import missing, run_module_in_guest


@pytest.fixture(scope="session")
def guest_available() -> None:
    """Skip where there can be no guest, and say why."""
    if reason := missing():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def measured(guest_available: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What tests/kernel/measure.py found, by middle: ``netem`` and ``relay``."""
    shared: Path = tmp_path_factory.mktemp("guest")
    relay = build.build_programs()["ncp-link"]
    ended = run_module_in_guest(shared, "tests.kernel.measure", str(relay), limit_s=280)
    found: dict[str, Any] = ended.document()
    return found
