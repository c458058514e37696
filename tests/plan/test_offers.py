"""What ends offer in their handshakes, beside what they come to agree on."""

from typing import Any

import pytest

from testbed.errors import BadInput
from testbed.planning.resolve import Choices, resolve
from testbed.planning.show import plan_text
from testbed.scenario.load import load
from tests.plan.test_resolve import POLICIES
from tests.raises import Containing, raises


def plan_of(*assignments: str) -> Any:
    return resolve(load("startup", assignments), POLICIES, Choices(), "RUN")


def test_what_is_left_out_of_an_offer_is_what_is_agreed() -> None:
    (session,) = plan_of("ncp.offers={sender: {mtu: 1100}}")["sessions"]
    assert session["offers"] == {"sender": {"send_window_bytes": 4 << 20, "mtu_bytes": 1100}}
    assert (session["send_window_bytes"], session["mtu_bytes"]) == (4 << 20, 1024)
    assert "offers" not in plan_of()["sessions"][0]
    assert "the sender offers 4194304 B and MTU 1100 B" in plan_text(plan_of("ncp.offers={sender: {mtu: 1100}}"))


def test_each_end_may_offer_more_of_something() -> None:
    (session,) = plan_of("ncp.offers={sender: {mtu: 1100}, receiver: {send_window: 5MiB}}")["sessions"]
    assert session["offers"]["receiver"] == {"send_window_bytes": 5 << 20, "mtu_bytes": 1024}


@pytest.mark.parametrize(
    ("offers", "says"),
    [
        ("{receiver: {mtu: 1000}}", "the smaller mtu of both, 1000 B, and ncp.mtu is 1024 B; make that the smaller"),
        ("{receiver: {send_window: 1MiB}}", "the smaller send_window of both, 1048576 B, and ncp.send_window is"),
        ("{sender: {mtu: 1100}, receiver: {mtu: 1200}}", "the smaller mtu of both, 1100 B, and ncp.mtu is 1024 B"),
    ],
)
def test_another_agreement_is_refused(offers: str, says: str) -> None:
    with raises(BadInput, "ncp.offers-agree-on-another", place=Containing("ncp.offers")) as refused:
        plan_of(f"ncp.offers={offers}")
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("offers", "code"),
    [
        ("{receiver: {mtu: 63}}", "input.wrong-type"),
        ("{receiver: {window: 1MiB}}", "input.unknown-key"),
        ("{both: {mtu: 1100}}", "input.unknown-key"),
        ("1MiB", "input.wrong-type"),
    ],
)
def test_mistakes(offers: str, code: str) -> None:
    with raises(BadInput, code):
        plan_of(f"ncp.offers={offers}")
