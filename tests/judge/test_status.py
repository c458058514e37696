"""The rules of statuses, for any tree of results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.judge.status import BEST_FIRST, OPEN, Status, each_of, summary_of, verdict_of, worst

standings = st.sampled_from(BEST_FIRST)
parts = st.sampled_from(Status)
WORDS_BEST_FIRST = ("pass", "fail", "untrusted")


@dataclass(frozen=True)
class Node:
    """A result: a leaf with its standing, or a whole made of named parts."""

    standing: Status = Status.PASS
    parts: tuple[Node, ...] = ()

    def worth(self) -> Status:
        return worst(part.worth() for part in self.parts) if self.parts else self.standing


def leaves(node: Node) -> list[Status]:
    return [leaf for part in node.parts for leaf in leaves(part)] if node.parts else [node.standing]


trees = st.recursive(
    st.builds(Node, standing=standings),
    lambda below: st.builds(lambda found: Node(parts=tuple(found)), st.lists(below, min_size=1, max_size=4)),
    max_leaves=12,
)


def with_leaf(node: Node, number: int, standing: Status) -> Node:
    """The tree with its leaf of that number (depth first) replaced."""
    if not node.parts:
        return replace(node, standing=standing) if number == 0 else node
    found, at = [], 0
    for part in node.parts:
        found.append(with_leaf(part, number - at, standing) if number >= at else part)
        at += len(leaves(part))
    return replace(node, parts=tuple(found))


def rank(standing: Status) -> int:
    return BEST_FIRST.index(standing)


@given(trees)
def test_the_whole_is_the_worst_leaf_and_never_better_than_any(tree: Node) -> None:
    assert tree.worth() == max(leaves(tree), key=rank)


@given(trees, st.data(), st.booleans())
def test_a_worse_part_never_improves_the_whole(tree: Node, data: st.DataObject, short: bool) -> None:
    number = data.draw(st.integers(0, len(leaves(tree)) - 1))
    before = leaves(tree)[number]
    worse = data.draw(st.sampled_from(BEST_FIRST[rank(before) :]))
    after = with_leaf(tree, number, worse)
    assert leaves(after)[number] == worse
    assert rank(after.worth()) >= rank(tree.worth())
    words = [verdict_of([part.worth() for part in t.parts or (t,)], may_stay_open=short) for t in (tree, after)]
    assert WORDS_BEST_FIRST.index(words[1]) >= WORDS_BEST_FIRST.index(words[0])


@given(st.dictionaries(st.integers(0, 9), parts, min_size=1), st.data(), st.booleans())
def test_dropping_a_part_never_makes_a_pass(found: dict[int, Status], data: st.DataObject, short: bool) -> None:
    asked = list(found)
    dropped = data.draw(st.sampled_from(asked))
    rest = {key: part for key, part in found.items() if key != dropped}
    before = verdict_of(each_of(asked, found), may_stay_open=short)
    after = verdict_of(each_of(asked, rest), may_stay_open=short)
    assert after != "pass"
    assert before == "pass" or after == before or {before, after} == {"fail", "untrusted"}


@given(st.lists(st.just(Status.SKIPPED), max_size=3), st.booleans())
def test_where_nothing_was_asked_nothing_passes(found: list[Status], short: bool) -> None:
    assert verdict_of(found, may_stay_open=short) == "fail"
    assert worst(found) == "missing"


@given(st.lists(parts), st.booleans())
def test_what_was_not_asked_changes_nothing(found: list[Status], short: bool) -> None:
    asked = [part for part in found if part != "skipped"]
    assert verdict_of(found, may_stay_open=short) == verdict_of(asked, may_stay_open=short)


@given(st.lists(standings, min_size=1))
def test_only_a_short_form_may_stay_open_and_something_has_to_pass(found: list[Status]) -> None:
    assert (verdict_of(found) == "pass") == (set(found) == {"pass"})
    short = verdict_of(found, may_stay_open=True)
    assert (short == "pass") == ("pass" in found and set(found) <= {"pass", *OPEN})


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (["pass", "fail"], "fail"),
        (["pass", "error"], "fail"),
        (["pass", "missing"], "fail"),
        (["pass", "inconclusive"], "fail"),
        (["fail", "untrusted"], "untrusted"),
        (["missing", "untrusted"], "untrusted"),
        (["pass", "skipped"], "pass"),
    ],
)
def test_words_of_a_full_form(found: list[Status], word: str) -> None:
    assert verdict_of(found) == word


def test_the_summary_names_each_part_that_does_not_hold() -> None:
    found: dict[str, Status] = {
        "bytes": Status.PASS,
        "law": Status.FAIL,
        "rate": Status.INSUFFICIENT_DATA,
        "other": Status.SKIPPED,
        "ratio": Status.UNTRUSTED,
        "late": Status.MISSING,
        "torn": Status.ERROR,
        "wide": Status.INCONCLUSIVE,
        "mptcp": Status.UNSUPPORTED,
    }
    assert summary_of(found.items()) == (
        "1 of 8 checks hold; “law” fails; “torn” can't be judged; “late” is missing; “ratio” is not to be trusted; "
        "“wide” is inconclusive; “rate” has too little data; “mptcp” can't be made here."
    )


def test_each_that_was_asked_for_is_a_part() -> None:
    found: dict[str, Status] = {"a": Status.PASS, "b": Status.FAIL, "more": Status.PASS}
    assert each_of(["b", "a", "c"], found) == ["fail", "pass", "missing"]


@pytest.mark.parametrize("word", ["not-asked", "undecided", "passed", ""])
def test_a_text_that_is_no_status_is_refused(word: str) -> None:
    parts: list[Any] = [Status.PASS, word]
    with pytest.raises(ValueError, match="not in tuple"):
        worst(parts)
    with pytest.raises(ValueError, match="not in tuple"):
        verdict_of(parts, may_stay_open=True)
