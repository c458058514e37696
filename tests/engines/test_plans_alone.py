"""What only lists builds no guest kernel, and waits for none."""

from pathlib import Path

import pytest

from testbed import engines
from testbed.engines.engine import Options
from testbed.errors import CannotRun
from testbed.machine import guest_kernel
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from testbed.study.kinds import table
from testbed.study.kinds.table_file import load as load_table


def test_a_dry_run_in_the_guest_needs_no_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(guest_kernel, "SHARED_CACHE", cache := tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("NCP_TESTBED_NO_BUILD", "1")  # the programs are there, and none of them is in question
    monkeypatch.setattr(guest_kernel, "STOCK", "no-such-linux.uml")
    monkeypatch.delenv("NCP_TESTBED_VKERNEL", raising=False)
    assert guest_kernel.built() is None
    engine = engines.named("vkernel")
    programs = engine.prepare_plans(Progress())
    plan = engine.plan(load("startup"), programs, engine.choices(Options()))
    engine.refuse(plan)
    table.tell(load_table("speed-table"), table.TableRequest(rows="1", engine="vkernel", repeat=1))
    assert "runs, " in capsys.readouterr().out
    assert not [*cache.rglob("linux*")], "nothing is built"
    with pytest.raises(CannotRun):
        guest_kernel.chosen()
