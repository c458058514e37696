"""A program of the user's own in a guest, to its verdict, the same each time."""

from collections.abc import Callable

import pytest

from testbed import paths
from testbed.documents import read_json
from testbed.engines.vkernel.run import GuestRun

EXAMPLE = str(paths.CHECKOUT / "examples" / "stripes" / "stripes.yaml")


@pytest.mark.nightly
def test_the_example_passes_with_the_same_bytes(guest_run: Callable[..., GuestRun]) -> None:
    runs = [guest_run(EXAMPLE, results=name) for name in ("first", "second")]
    for run in runs:
        verdict = read_json(run.folder / "verdict.json")
        assert verdict["verdict"] == "pass", verdict["summary"]
    first, second = ((run.folder / "telemetry.lp").read_bytes() for run in runs)
    assert first == second
