"""Events on live links show in the data where the timeline put them."""

from collections.abc import Callable
from pathlib import Path

from testbed.engines.vkernel.run import GuestRun
from tests.netem.live_changes import SCENARIO, assert_events_show_in_the_data


def test_events_show_in_the_data(guest_run: Callable[..., GuestRun], tmp_path: Path) -> None:
    scenario = tmp_path / "live-changes.yaml"
    scenario.write_text(SCENARIO)
    assert_events_show_in_the_data(guest_run(str(scenario)).folder)
