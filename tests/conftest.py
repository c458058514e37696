"""What all tests share: tests marked ``emulation`` need root and are skipped, with that reason, without."""

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() == 0:
        return
    skip = pytest.mark.skip(reason="needs root, for network namespaces")
    for item in items:
        if "emulation" in item.keywords:
            item.add_marker(skip)
