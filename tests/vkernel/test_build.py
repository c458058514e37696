"""The step of ``./run.sh test`` that builds the guest kernel."""

import pytest

from testbed.engines.vkernel import build
from testbed.machine import guest_kernel as kernel
from tests.vkernel import kernel_for_tests


def test_where_it_can_not_be_built_tests_go_on_without(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernel, "built", lambda: None)
    monkeypatch.setattr(kernel, "why_not_buildable", lambda: "As root: apt-get install flex")
    monkeypatch.setattr(build, "build", lambda _: pytest.fail("there is nothing to build it from"))
    kernel_for_tests.main()
    assert capsys.readouterr().out == "not built: tests that need it are skipped. As root: apt-get install flex\n"
