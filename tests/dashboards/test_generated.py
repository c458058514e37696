"""What is committed is what the code makes."""

import pytest

from dashboards.generate import FOLDER, files

GENERATED = files()


@pytest.mark.parametrize("path", sorted(GENERATED), ids=str)
def test_the_committed_file_is_the_generated_one(path):
    assert (FOLDER / path).read_text(encoding="utf-8") == GENERATED[path], "run: python -m dashboards.generate"


def test_nothing_else_is_committed_beside_them():
    present = {
        path.relative_to(FOLDER)
        for folder in ("json", "provisioning/alerting")
        for path in (FOLDER / folder).rglob("*")
        if path.is_file()
    }
    assert present == set(GENERATED)
