"""mutmut with the tests collected once. Its own runner starts pytest anew for each mutant, which takes far longer than
the tests do: here a mutant's process is forked from one that has collected them, and runs those that may notice.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import mutmut.__main__ as mutmut
import pytest
from _pytest.config import _prepareconfig
from mutmut.runners.harness import ListAllTestsResult, PytestRunner
from mutmut.state import state
from mutmut.utils.file_utils import change_cwd
from mutmut.workers import isolation

# A test that fails is soon done: no explanation. Captured output would leave the /dev/null that a process is given
# unreferenced, and a test fails for that.
_ARGUMENTS = ["--rootdir=.", "--capture=no", "--assert=plain", "--tb=native", "-otmp_path_retention_policy=failed"]


class CollectedOnce(PytestRunner):
    """Runs tests in a session of pytest that is there already."""

    @cached_property
    def items(self) -> dict[str, pytest.Item]:
        with change_cwd("mutants"):
            config = _prepareconfig(
                [*_ARGUMENTS, *self._pytest_add_cli_args, *self._pytest_add_cli_args_test_selection]
            )
            session = pytest.Session.from_config(config)
            config._do_configure()
            config.hook.pytest_sessionstart(session=session)
            config.hook.pytest_collection(session=session)
            config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one folder for all
        return {item.nodeid: item for item in session.items}

    def execute_pytest(self, params: list[str], **kwargs: Any) -> int:
        """Another session, to see which function a new test calls."""
        return int(super().execute_pytest([*_ARGUMENTS, *params], **kwargs))

    def list_all_tests(self) -> ListAllTestsResult:
        return ListAllTestsResult(ids=set(self.items))

    def run_tests(self, *, mutant_name: str | None, tests: Iterable[str]) -> int:
        """1 at the first that fails, the quickest ones first; else 0."""
        items = [self.items[test] for test in sorted(tests, key=state().duration_by_test.__getitem__)]
        with change_cwd("mutants"):
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if item.session.testsfailed:
                    return 1
        return 0


class Forks(isolation.ForkRunner):
    """A process for each mutant; before, in one like it, the unchanged code has to pass and a failure to be seen."""

    def _exit_code(self, mutant_name: str, tests: Iterable[str]) -> int:
        self.submit(mutant_name, list(tests or self.test_runner.items), cpu_time_limit=3600, estimated_time=0)
        return int(self.wait_for_result().exit_code)

    def run_clean_tests(self, tests: Iterable[str]) -> int:
        return self._exit_code("", tests)

    def run_forced_fail(self) -> int:
        return self._exit_code("fail", [])


def _no_timeout(*, pid: int, timeout_s: float) -> None:
    """A mutant is stopped by the CPU time that it takes: on a busy machine the time of day says nothing."""


if __name__ == "__main__":
    isolation.register_timeout = _no_timeout
    mutmut.get_mutant_runner = lambda processes=1: Forks(processes, CollectedOnce())
    mutmut.cli()
