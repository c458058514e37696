"""Plans that are read: unchanged where they are right, and told where they are not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import BadInput
from testbed.plan.read import read_plan
from tests.checks.generate import make_plan
from tests.raises import Containing, Said


def test_a_plan_is_read_as_it_is_with_keys_that_are_not_known(tmp_path: Path) -> None:
    plan = make_plan() | {"later": {"than": "this"}}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    assert read_plan(tmp_path / "plan.json") == plan


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda p: p.pop("seed"), Said("plan.bad-value", key="seed", error="is missing")),
        (
            lambda p: p.update(links=7),
            Said("plan.bad-value", key="links", error="7 is not right: Input should be a valid list"),
        ),
        (
            lambda p: p["links"][1]["queue"].update(mode="red"),
            Said(
                "plan.bad-value", key="links.slow.queue.mode", error=Containing("'red' is not right: Input should be")
            ),
        ),
        (
            lambda p: p["links"][0].update(rate_bps="8790016"),
            Said("plan.bad-value", key="links.fast.rate_bps", error=Containing("'8790016' is not right")),
        ),
        (
            lambda p: p["sessions"][0].pop("connections"),
            Said("plan.bad-value", key="sessions.s1.connections", error="is missing"),
        ),
        (
            lambda p: p["sessions"][0]["connections"][1].update(index=2.5),
            Said("plan.bad-value", key="sessions.s1.connections.2.index", error=Containing("2.5 is not")),
        ),
        (
            lambda p: p["sessions"][0].update(mtu_bytes=True),
            Said("plan.bad-value", key="sessions.s1.mtu_bytes", error=Containing("True is not right")),
        ),
        (
            lambda p: p["limits"].update(rate_error=None),
            Said("plan.bad-value", key="limits.rate_error", error=Containing("None is not right")),
        ),
        (
            lambda p: p["timeline"].append({"kind": "jump"}),
            Said("plan.bad-value", key="timeline.1", error=Containing("{'kind': 'jump'} is not right")),
        ),
        (
            lambda p: p["timeline"].append({"kind": "carrier", "at_s": 1, "text": "", "link": "fast"}),
            Said("plan.bad-value", key="timeline.1.up", error="is missing"),
        ),
    ],
)
def test_what_is_wrong_with_a_plan_is_told_with_its_place(
    tmp_path: Path, edit: Callable[[Any], object], told: Said
) -> None:
    plan = make_plan()
    edit(plan)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    with pytest.raises(BadInput) as error:
        read_plan(file)
    assert error.value.message.startswith(f"{file}: ")
    told.check(error.value)
