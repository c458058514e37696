"""What ``./run.sh test`` makes of its suites: a test on a real clock gets a second try, and everybody is told."""

import sys
from pathlib import Path

import pytest

from testbed import paths
from testbed.cli import test as verb
from testbed.errors import Exit

COMMAND = (sys.executable, "-m", "pytest", "-q", "tests")
AGAIN = ("--last-failed", "--last-failed-no-failures=none")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tests").mkdir()
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)
    return tmp_path


def write(checkout: Path, *lines: str) -> None:
    (checkout / "tests" / "test_one.py").write_text("\n".join(["from pathlib import Path", *lines]) + "\n")


FAILS_AT_FIRST = (
    "def test_late():",
    "    seen = Path('seen')",
    "    there = seen.exists()",
    "    seen.touch()",
    "    assert there",
)


def test_a_test_that_fails_once_is_told_of(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(
        checkout,
        "def test_good():",
        "    with Path('good').open('a') as file:",
        "        file.write('x')",
        *FAILS_AT_FIRST,
    )
    assert verb._run([verb.Suite("timed", COMMAND, AGAIN)]) == Exit.PASS
    assert "passed at the second try only: tests/test_one.py::test_late" in capfd.readouterr().out
    assert (checkout / "good").read_text() == "x", "only what failed is run again"


def test_without_a_second_try_it_fails(checkout: Path) -> None:
    write(checkout, *FAILS_AT_FIRST)
    assert verb._run([verb.Suite("exact", COMMAND)]) == Exit.FAIL


def test_what_fails_twice_has_failed(checkout: Path) -> None:
    write(checkout, "def test_bad():", "    assert False")
    assert verb._run([verb.Suite("timed", COMMAND, AGAIN)]) == Exit.FAIL


def test_many_failures_are_no_accident(checkout: Path) -> None:
    many = verb.MOST_REPEATED + 1
    write(
        checkout,
        *(
            line
            for n in range(many)
            for line in (
                FAILS_AT_FIRST[0].replace("late", f"late{n}"),
                f"    seen = Path('seen{n}')",
                *FAILS_AT_FIRST[2:],
            )
        ),
    )
    assert verb._run([verb.Suite("timed", COMMAND, AGAIN)]) == Exit.FAIL


def test_pytest_that_breaks_down_gets_no_second_try(
    checkout: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(checkout, *FAILS_AT_FIRST)
    assert verb._run([verb.Suite("timed", COMMAND)]) == Exit.FAIL
    write(checkout, "this is no Python")
    assert verb._run([verb.Suite("timed", COMMAND, AGAIN)]) == Exit.FAIL
    assert "once more" not in capfd.readouterr().out


def test_the_guest_kernel_is_built_before_any_test_runs() -> None:
    names = [suite.name for suite in verb.suites()]
    assert names.index("guest kernel") < names.index("pytest") < names.index("pytest in real time")
