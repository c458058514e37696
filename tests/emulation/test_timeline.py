"""Events on live links show in the data where the timeline put them."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.emulation.conftest import ON_ANY_MACHINE, result_folder
from tests.emulation.live_changes import SCENARIO, assert_events_show_in_the_data

pytestmark = pytest.mark.emulation


def test_events_show_in_the_data(
    run_sh: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    scenario = tmp_path / "live-changes.yaml"
    scenario.write_text(SCENARIO)
    done = run_sh(str(scenario), "--runtime", "process", *ON_ANY_MACHINE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_events_show_in_the_data(result_folder(tmp_path, "live-changes"))
