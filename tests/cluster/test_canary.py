"""By what a host is left out: each difference is named, and no other."""

from typing import Any

import pytest

from testbed.study.hosts.fitness import environment, mismatches

COMMON: dict[str, Any] = {
    "commit": "a" * 40,
    "code": "c0de",
    "python": "3.11.2",
    "machine": "x86_64",
    "packages": {"numpy": "2.0"},
    "kernel": "",
}
ENGINES = {"sim": "5" * 16, "mininet": "possible"}


@pytest.mark.parametrize(
    ("theirs", "named"),
    [
        ({}, []),
        ({"cores": 8}, []),
        ({"commit": "b" * 40}, ["commit bbbbbbbbbbbbbbbb there, aaaaaaaaaaaaaaaa here"]),
        ({"code": "other"}, ["sources other there, c0de here"]),
        ({"python": "3.12.1"}, ["Python 3.12.1 there, 3.11.2 here"]),
        ({"machine": "aarch64"}, ["machine aarch64 there, x86_64 here"]),
        ({"kernel": "1234"}, ["guest kernel 1234 there, none here"]),
        ({"packages": {"numpy": "1.9"}}, ["package numpy 1.9 there, 2.0 here"]),
        ({"packages": {}}, ["package numpy missing there, 2.0 here"]),
        ({"packages": {"numpy": "2.0", "more": "1"}}, ["package more 1 there, missing here"]),
    ],
)
def test_of_the_testbed(theirs: dict[str, Any], named: list[str]) -> None:
    assert mismatches(COMMON, {**COMMON, **theirs}) == named


@pytest.mark.parametrize(
    ("theirs", "named"),
    [
        (ENGINES, []),
        ({**ENGINES, "sim": "6" * 16}, ["small run on sim 6666666666666666 there, 5555555555555555 here"]),
        (
            {**ENGINES, "sim": "not possible (no Go)"},
            ["small run on sim not possible (no Go) there, 5555555555555555 here"],
        ),
        (
            {**ENGINES, "mininet": "not possible (no root)"},
            ["small run on mininet not possible (no root) there, possible here"],
        ),
        ({"mininet": "possible"}, ["small run on sim missing there, 5555555555555555 here"]),
    ],
)
def test_of_the_small_runs(theirs: dict[str, str], named: list[str]) -> None:
    assert mismatches({**COMMON, "engines": ENGINES}, {**COMMON, "engines": theirs}) == named


def test_what_is_lacking_differs() -> None:
    assert mismatches(COMMON, {}) == [
        "commit none there, aaaaaaaaaaaaaaaa here",
        "sources none there, c0de here",
        "Python none there, 3.11.2 here",
        "machine none there, x86_64 here",
        "package numpy missing there, 2.0 here",
    ]


def test_packages_are_those_that_the_locks_pin() -> None:
    here = environment()
    assert set(here) == set(COMMON) - {"kernel"}
    assert {"numpy", "ansible-core"} <= here["packages"].keys()
    assert "pytest" not in here["packages"]
