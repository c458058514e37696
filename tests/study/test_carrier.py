"""A cell whose bytes something else carries in NCP's place."""

import pytest

from testbed.engines.engine import Programs
from testbed.errors import BadInput
from testbed.plan.traffic_types import sent_by
from testbed.planning.resolve import Choices
from testbed.scenario.load import load
from testbed.study.cell import ScenarioCell
from tests.plan.test_resolve import POLICIES
from tests.raises import raises


def cell(carrier: str | None, congestion_control: str | None = None) -> ScenarioCell:
    return ScenarioCell(
        {"only": "one"}, load("startup", []), Choices(), Programs({}, POLICIES), carrier, congestion_control
    )


@pytest.mark.parametrize("congestion_control", [None, "cubic"])
def test_it_is_planned_as_the_carriers_with_or_without_a_choice_of_its_own(congestion_control: str | None) -> None:
    plan = cell("mptcp", congestion_control).plan
    assert sent_by(plan).name == "mptcp"
    assert plan["sessions"][0]["congestion_control"] == congestion_control
    assert [check["judge"] for check in plan["checks"]] == ["mptcp_carried", "points_stored"]


def test_without_one_it_is_ncps() -> None:
    assert sent_by(cell(None).plan).name == "ncp"


def test_what_can_not_take_its_place_says_so() -> None:
    with raises(BadInput, "traffic.not-a-carrier", traffic="Tcp"):
        _ = cell("tcp").plan
