"""What the tests of tables share."""

from pathlib import Path

import pytest

from tests.tables.small_table import SMALL


@pytest.fixture
def small(tmp_path: Path) -> str:
    """The small table's file."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return str(path)
