"""What settings name is there."""

import re

from testbed import paths


def test_files_and_folders_that_settings_name_are_there() -> None:
    settings = (paths.CHECKOUT / "pyproject.toml").read_text()
    named = re.findall(r'"((?:tests|testbed)/[\w./*]+)"', settings)
    assert len(named) > 20
    assert [name for name in named if not list(paths.CHECKOUT.glob(name))] == []
