"""Every room of the testbed has its place among the layers: one that has none could import anything."""

import re
from pathlib import Path

from testbed import paths


def without_a_place(settings: str, rooms: set[str]) -> set[str]:
    """Rooms that the contract from the command line down does not name."""
    layers = settings.split("from the command line down to topologies")[1].split("[[tool.importlinter")[0]
    return rooms - set(re.findall(r"testbed\.(\w+)", layers))


def test_every_room_has_its_place() -> None:
    settings = (paths.CHECKOUT / "pyproject.toml").read_text()
    found = [path.relative_to(paths.CHECKOUT / "testbed") for path in (paths.CHECKOUT / "testbed").rglob("*.py")]
    rooms = {Path(path.parts[0]).stem for path in found if not path.parts[0].startswith("__")}
    assert without_a_place(settings, rooms) == set()
    assert without_a_place(settings, {*rooms, "attic"}) == {"attic"}
    assert without_a_place(settings.replace("testbed.traffic", ""), rooms) == {"traffic"}


def test_files_and_folders_that_settings_name_are_there() -> None:
    settings = (paths.CHECKOUT / "pyproject.toml").read_text()
    named = re.findall(r'"((?:tests|testbed)/[\w./*]+)"', settings)
    assert len(named) > 20
    assert [name for name in named if not list(paths.CHECKOUT.glob(name))] == []
