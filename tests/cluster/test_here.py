"""What a host says of itself when a cluster is made."""

import json
from pathlib import Path

import pytest

from testbed.study.hosts import fitness


def test_a_host_says_so_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = fitness.versions()
    assert fitness.main([str(tmp_path), json.dumps({**own, "kernel": "another"})]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    kernel = own["kernel"] or "none"
    assert said.err == f"differs from the machine that makes the cluster: guest kernel {kernel} there, another here\n"
    assert fitness.main([str(tmp_path), json.dumps(own)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cores"] >= 1
    assert set(told["can"]) == {"containers", "processes", "vkernel", "sim"}
    assert {name for name, can in told["can"].items() if not can} == set(told["why_not"])
