"""By what a host is left out: each difference is named, and no other."""

from dataclasses import replace
from typing import Any

import pytest

from testbed.cluster.canary import Fingerprint, differences

OURS: dict[str, Any] = {
    "commit": "a" * 40,
    "code": "c0de",
    "python": "3.11.2",
    "machine": "x86_64",
    "packages": {"numpy": "2.0"},
    "hashes": {"sim": "5" * 64},
    "cannot": {},
}


@pytest.mark.parametrize(
    ("theirs", "named"),
    [
        ({}, []),
        ({"commit": "b" * 40}, ["commit bbbbbbbbbbbbbbbb there, aaaaaaaaaaaaaaaa here"]),
        ({"code": "other"}, ["sources other there, c0de here"]),
        ({"python": "3.12.1"}, ["Python 3.12.1 there, 3.11.2 here"]),
        ({"machine": "aarch64"}, ["machine aarch64 there, x86_64 here"]),
        ({"packages": {"numpy": "1.9"}}, ["package numpy 1.9 there, 2.0 here"]),
        ({"packages": {}}, ["package numpy missing there, 2.0 here"]),
        (
            {"hashes": {"sim": "6" * 64}},
            ["its small run on sim is not the same bytes (666666666666 there, 555555555555 here)"],
        ),
        ({"hashes": {}, "cannot": {"sim": "no Go"}}, ["sim: no Go"]),
        ({"hashes": {}}, ["it made no small run on sim"]),
    ],
)
def test_differences(theirs: dict[str, Any], named: list[str]) -> None:

    ours = Fingerprint(**OURS)
    assert differences(ours, replace(ours, **theirs)) == named
