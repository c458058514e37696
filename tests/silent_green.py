"""A plugin of pytest: a skip for which this machine has no reason fails the session, and second tries are counted."""

from __future__ import annotations

import pytest

from testbed.cli.skips import objection

UNACCEPTED_SKIP = 16
"""Exit code of a session with such a skip: another one than that of failed tests, which may get a second try."""
SECOND_TRIES = "silent-green/second-tries"
"""Key of pytest's cache: the tests that passed, but needed a second try for it."""
PROPERTY = "second try"


def tried_again(test: pytest.Item, why: str) -> None:
    """Note that a test did something a second time; it is counted if it passes."""
    test.user_properties.append((PROPERTY, why))


class SilentGreen:
    """Sees the reports of one session; with workers, those of all of them."""

    def __init__(self) -> None:
        self.refused: dict[str, None] = {}
        self.second_tries: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self._judge(report)
        if report.passed and report.when == "call" and PROPERTY in dict(report.user_properties):
            self.second_tries.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._judge(report)

    def _judge(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        reason = getattr(report, "wasxfail", None)
        if reason is None:
            said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            reason = said.removeprefix("Skipped: ").removeprefix("Skipped")
        if why := objection(reason):
            self.refused[f"{report.nodeid}: {why}"] = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            return
        if cache := getattr(session.config, "cache", None):
            cache.set(SECOND_TRIES, self.second_tries)
        if self.refused and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            session.exitstatus = UNACCEPTED_SKIP

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self.refused:
            terminalreporter.write_line(f"skipped without an accepted reason: {line}", red=True)
        for name in self.second_tries:
            terminalreporter.write_line(f"passed only at the second try: {name}", yellow=True)
