"""Each judgement at and beside its limits: status, what is measured, the reason's figures, and all else it tells."""

from __future__ import annotations

import json

import pytest

from tests.checks import results

RECORDED = json.loads(results.RECORDED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", results.CASES)
def test_the_whole_result_is_as_recorded(name: str) -> None:
    status, _, _ = results.CASES[name]
    found = results.result(name)
    assert found["status"] == status
    assert found == RECORDED[name]


def test_nothing_else_is_recorded() -> None:
    assert set(RECORDED) == set(results.CASES)
