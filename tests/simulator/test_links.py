"""The scenarios that show what a link can do: each passes, and fails where its link can't."""

import pytest

from testbed.runtime.progress import Progress
from testbed.scenario.files import links
from testbed.scenario.load import load
from tests.ready import simulated as prepare

WITHOUT = {
    "links-burst-loss": ("links.bursts.burst_loss=null", "bursts are lost"),
    "links-codel": ("links.codel.queue.mode=droptail", "the queue is short"),
    "links-corrupt": ("timeline=[]", "damaged packets are lost"),
    "links-drophead": ("links.drophead.queue.mode=droptail", "losses at the head are known"),
    "links-duplicate": ("timeline=[]", "copies take a third"),
    "links-flap": ("timeline=[]", "it carries little meanwhile"),
    "links-jitter": ("timeline=[]", "the timeout has the spread in it"),
    "links-ramp": ("timeline=[]", "round trips after"),
    "links-reorder": ("timeline=[]", "round trips are shorter"),
    "links-trace": ("links.bursts.trace=null", "packets wait for their burst"),
}
"""Scenario → what takes its impairment away, and the check that tells."""


def failed(name: str, *assignments: str, quick: bool = False) -> list[str]:
    """The checks that do not hold."""
    run = prepare(load(name, assignments, quick=quick), Progress(), seed=None, quick=quick)
    verdict = run.without_database(None)
    assert verdict.trust.trusted, verdict.trust.reasons
    return [check.name for check in verdict.checks if check.status != "pass"]


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path))


def test_each_of_them_is_tried_without() -> None:
    assert sorted(WITHOUT) == [path.stem for path in links()]


@pytest.mark.parametrize("name", WITHOUT)
def test_it_shows_its_impairment_and_fails_without(name: str) -> None:
    assert failed(name) == []
    assert failed(name, quick=True) == []
    without, told = WITHOUT[name]
    assert told in failed(name, without)
