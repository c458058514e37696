"""What a worker says where it could make no run."""

import tempfile
from pathlib import Path

import pytest

from testbed.study.cell import Target
from testbed.study.hosts import worker
from testbed.study.hosts.worker import Failed
from testbed.study.pool import InJob


def test_a_disk_on_which_nothing_can_be_made_is_the_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "STATE", worker.State("one", tmp_path / "gone"))
    [(answer, _)] = worker.examine([Target("sim")], None, "somebody")
    assert isinstance(answer, Failed)
    assert answer.of_the_host
    assert "No such file or directory" in str(answer.error)
    [(made, _)] = worker.runs([b""], "somebody")
    assert isinstance(made, Failed)
    assert made.of_the_host


def test_where_every_disk_is_full_the_host_is_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/dev/full"])
    with pytest.raises(FileNotFoundError) as raised:
        tempfile.mkdtemp()
    assert Failed.of(raised.value).of_the_host
    raised.value.__cause__ = InJob("its own traceback")
    assert Failed.of(raised.value).of_the_host
    of_the_run = FileNotFoundError(2, "No such file or directory", "/none")
    of_the_run.__cause__ = InJob("its own traceback")
    assert Failed.of(of_the_run) == Failed(of_the_run, "its own traceback", of_the_host=False)
