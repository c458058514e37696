"""A bundle whose scenario has a program for a topology: verifying it does not carry the program out."""

from pathlib import Path

import pytest

from tests.bundle import made
from tests.bundle.made import verify_folder
from tests.plan.test_custom import SCENARIO
from tests.said import codes

pytest.importorskip("mininet.topo")

HARM = """
from pathlib import Path
from mininet.topo import Topo

Path({marker!r}).touch()

class Diamond(Topo):
    pass
"""


def test_a_topology_that_the_plan_does_not_tell_of_is_not_carried_out(tmp_path: Path) -> None:
    folder = made.simulated(tmp_path)
    marker = tmp_path / "carried-out"
    (folder / "diamond.py").write_text(HARM.format(marker=str(marker)))
    (folder / "scenario.yaml").write_text(SCENARIO)
    found = verify_folder(folder)
    assert not marker.exists()
    assert codes(found.differences) == ["plan.can-not-be-made-again"]


def test_no_other_file_is_read_for_a_result(tmp_path: Path) -> None:
    folder = made.simulated(tmp_path)
    (folder / "scenario.yaml").write_text("name: small\nextends: startup\n")
    found = verify_folder(folder)
    assert codes(found.differences) == ["plan.can-not-be-made-again"]
