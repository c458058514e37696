"""What a host must have in common with who makes the cluster."""

import json
from pathlib import Path

import pytest

from testbed.cluster import here


def test_a_host_that_has_the_same_does_not_differ() -> None:
    own = here.versions()
    assert set(own) == set(here.SAME)
    assert here.differing({**own, "cores": 8}, own) == []


@pytest.mark.parametrize("key", here.SAME)
def test_each_thing_that_differs_is_named_with_both_values(key: str) -> None:
    own = dict.fromkeys(here.SAME, "one")
    assert here.differing({**own, key: "other"}, own) == [f"{key} (other there, one here)"]
    assert here.differing({**own, key: ""}, own) == [f"{key} (none there, one here)"]


def test_a_host_says_so_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = here.versions()
    assert here.main([str(tmp_path), json.dumps({**own, "kernel": "another"})]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("differs from the machine that makes the cluster in kernel (")
    assert here.main([str(tmp_path), json.dumps(own)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cores"] >= 1
    assert set(told["can"]) == {"mininet", "vkernel", "sim"}
    assert {name for name, can in told["can"].items() if not can} == set(told["why_not"])


def test_packages_that_are_not_as_pinned_are_no_digest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lock = tmp_path / "other.lock"
    lock.write_text("no-such-package==1.0 \\\n    --hash=sha256:0\n")
    monkeypatch.setattr(here, "LOCKS", (str(lock),))
    assert here.versions()["packages"] == "no-such-package==1.0 (not installed)"
