"""What ``./run.sh test`` makes of its suites: one test on a real clock gets a second try, and everybody is told; a skip
for which the machine has no reason fails."""

import dataclasses
import json
import os
import re
import sys
from pathlib import Path

import pytest

from testbed import paths
from testbed.build import go_tool
from testbed.cli import go_tests, skips
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
    assert "passed only at the second try: tests/test_one.py::test_late" in capfd.readouterr().out
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


def test_pytest_that_breaks_down_gets_no_second_try(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(checkout, *FAILS_AT_FIRST)
    assert verb._run([verb.Suite("timed", COMMAND)]) == Exit.FAIL
    write(checkout, "this is no Python")
    assert verb._run([verb.Suite("timed", COMMAND, AGAIN)]) == Exit.FAIL
    assert "once more" not in capfd.readouterr().out


NO_SECOND_TRY = "second tries: 0"


def test_second_tries_are_counted_in_the_last_line(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(checkout, *FAILS_AT_FIRST)
    assert verb._run([verb.Suite("timed", COMMAND, AGAIN)]) == Exit.PASS
    assert capfd.readouterr().out.splitlines()[-1] == "suites: 1 passed, 0 failed; second tries: 1"
    assert verb._run([verb.Suite("timed", COMMAND, AGAIN)]) == Exit.PASS
    assert capfd.readouterr().out.splitlines()[-1].endswith(NO_SECOND_TRY)


def test_two_that_pass_at_the_second_try_fail_the_run(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each in a suite of its own, where each is the only one."""
    write(checkout, *FAILS_AT_FIRST)
    other = (checkout / "tests" / "test_one.py").read_text().replace("'seen'", "'other'")
    (checkout / "tests" / "test_two.py").write_text(other)
    one, two = (verb.Suite(name, (*COMMAND[:-1], f"tests/test_{name}.py"), AGAIN) for name in ("one", "two"))
    assert verb._run([one, two]) == Exit.FAIL
    *_, told, last = capfd.readouterr().out.splitlines()
    assert told == "failed: 2 tests passed only at the second try, at most 1 may"
    assert last == "suites: 2 passed, 0 failed; second tries: 2"


WATCHED = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(paths.CHECKOUT)!r})
from testbed import paths
from tests.silent_green import SilentGreen

def pytest_configure(config):
    paths.CHECKOUT = Path.cwd()
    config.pluginmanager.register(SilentGreen())
"""
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "with workers"])


@pytest.fixture
def watched(checkout: Path) -> Path:
    """A checkout whose tests are watched as this one's are."""
    (checkout / "tests" / "conftest.py").write_text(WATCHED)
    return checkout


@WORKERS
def test_skips_without_an_accepted_reason_fail_the_suite(
    watched: Path, capfd: pytest.CaptureFixture[str], workers: tuple[str, ...]
) -> None:
    """Also where a test has failed that passes at its second try."""
    (watched / ".git").mkdir()
    write(
        watched,
        "import pytest",
        *FAILS_AT_FIRST,
        "def test_a(): pytest.skip('no time today')",
        "def test_b(): pytest.skip()",
        "@pytest.mark.skip",
        "def test_c(): pass",
        "@pytest.mark.skipif(True, reason='no time at all')",
        "def test_d(): pass",
        "@pytest.mark.xfail(reason='known to be wrong')",
        "def test_e(): assert False",
        "@pytest.fixture",
        "def late(): pytest.skip('no time for this')",
        "def test_f(late): pass",
        "def test_g(): pytest.skip('this checkout has no history')",
    )
    skips_all = ("import pytest", "pytest.skip('no time for all', allow_module_level=True)")
    (watched / "tests" / "test_two.py").write_text("\n".join(skips_all))
    (watched / "tests" / "test_three.py").write_text("import pytest\npytest.importorskip('no_such_module')\n")
    assert verb._run([verb.Suite("timed", (*COMMAND, *workers), AGAIN)]) == Exit.FAIL
    out = capfd.readouterr().out
    told = set(re.findall(r"^skipped without an accepted reason: tests/(\S+): ([^:(]*\w)", out, re.MULTILINE))
    assert told == {
        ("test_one.py::test_a", "no time today"),
        ("test_one.py::test_b", "no reason"),
        ("test_one.py::test_c", "unconditional skip"),
        ("test_one.py::test_d", "no time at all"),
        ("test_one.py::test_e", "known to be wrong"),
        ("test_one.py::test_f", "no time for this"),
        ("test_one.py::test_g", "this checkout has no history"),
        ("test_two.py", "no time for all"),
        ("test_three.py", "could not import 'no_such_module"),
    }
    assert "test_g: this checkout has no history: accepted only where there is no .git" in out
    assert re.search(r"^1 failed, 8 skipped, 1 xfailed", out, re.MULTILINE), "pytest's own summary is still there"
    assert "once more" not in out


@WORKERS
def test_a_skip_with_an_accepted_reason_passes(
    watched: Path, capfd: pytest.CaptureFixture[str], workers: tuple[str, ...]
) -> None:
    write(watched, "import pytest", "def test_a(): pass", "def test_b(): pytest.skip('this checkout has no history')")
    assert verb._run([verb.Suite("exact", (*COMMAND, *workers))]) == Exit.PASS
    assert "1 passed, 1 skipped" in capfd.readouterr().out


TRIES_TWICE = ("from tests.silent_green import tried_again", "def test_{0}(request): tried_again(request.node, 'late')")


@WORKERS
def test_a_second_try_inside_a_test_counts(
    watched: Path, capfd: pytest.CaptureFixture[str], workers: tuple[str, ...]
) -> None:
    suite = verb.Suite("timed", (*COMMAND, *workers), AGAIN)
    write(watched, *(line.format("a") for line in TRIES_TWICE))
    assert verb._run([suite]) == Exit.PASS
    assert "passed only at the second try: tests/test_one.py::test_a" in capfd.readouterr().out
    assert verb._run([suite, suite]) == Exit.FAIL


def test_each_accepted_reason_is_refused_where_its_condition_does_not_hold() -> None:
    one = skips.Accepted("needs .*", "there is none", lambda: False)
    assert skips.objection("needs a cat", (one,)) == "needs a cat: accepted only where there is none"
    assert skips.objection("needs a cat", (dataclasses.replace(one, holds=lambda: True),)) is None
    assert skips.objection("that needs a cat", (one,)) == (
        "that needs a cat: not among the accepted reasons (testbed/cli/skips.py)"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to tell what root may not skip")
@pytest.mark.parametrize(
    "reason",
    [
        "needs root, for network namespaces",
        "influxd is not installed",
        "qemu-aarch64 is not installed",
        "could not import 'mininet.topo': No module named 'mininet'",
    ],
)
def test_root_has_no_reason_to_skip_what_set_up_installs(reason: str) -> None:
    assert "accepted only where" in str(skips.objection(reason))


def test_what_the_skips_of_this_checkout_say_is_among_the_reasons() -> None:
    """Each of them is accepted somewhere: none would fail on every machine."""
    folders = ("tests", "agents", "collectors", "link", "ncp-agent", "ndn-agent", "tcp", "telemetry")
    said = [
        match[1]
        for folder in folders
        for path in (paths.CHECKOUT / folder).rglob("*")
        if path.suffix in (".py", ".go") and path != Path(__file__)
        for match in re.finditer(
            r"(?:pytest\.skip\(|skipif\(.*reason=|mark\.skip\(reason=|t\.Skip\()f?\"(.*?)[\"{]", path.read_text()
        )
    ]
    assert len(said) > 8
    for reason in said:
        known = any(re.match(one.reason.removesuffix(" .*"), reason) for one in skips.ACCEPTED)
        assert known or reason in RAPID_DRAWS, reason


RAPID_DRAWS = ("there is no other", "the last one leaves no gap")
"""Of generated inputs that are drawn again: no test is skipped."""

GO_MODULE = "module saboteur\n\ngo 1.23\n"
GO_TESTS = """package saboteur

import "testing"

func TestGood(t *testing.T) { t.Log("all is well") }

func TestOther(t *testing.T) { %s }
"""


def go_suite(checkout: Path, body: str) -> verb.Suite:
    (checkout / "go.mod").write_text(GO_MODULE)
    (checkout / "saboteur_test.go").write_text(GO_TESTS % body)
    return verb.Suite("go test", (go_tool(), "test", "-count=1", "-json", "./..."), run=go_tests.run)


def test_skips_in_go_without_an_accepted_reason_fail_the_suite(
    checkout: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (checkout / ".git").mkdir()
    said = {
        "time": 't.Skip("no time today")',
        "log": 't.Log("needs root, for namespaces"); t.Skip("no time")',
        "now": "t.SkipNow()",
        "git": 't.Skip("this checkout has no history")',
    }
    body = "".join(f't.Run("{name}", func(t *testing.T) {{ {skip} }});' for name, skip in said.items())
    assert verb._run([go_suite(checkout, body)]) == Exit.FAIL
    out = capfd.readouterr().out
    told = re.findall(r"^skipped without an accepted reason: saboteur TestOther/(.*)", out, re.MULTILINE)
    listed = "not among the accepted reasons (testbed/cli/skips.py)"
    assert told == [
        f"time: no time today: {listed}",
        f"log: no time: {listed}",
        f"now: no reason: {listed}",
        "git: this checkout has no history: accepted only where there is no .git in the checkout",
    ]
    assert "ok  \tsaboteur\t" in out


def test_go_tests_are_told_of_as_go_tells_them(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert verb._run([go_suite(checkout, 't.Skip("this checkout has no history")')]) == Exit.PASS
    out = capfd.readouterr().out.splitlines()
    assert [line.split("\t")[:2] for line in out[:2]] == [["== go test"], ["ok  ", "saboteur"]]
    wrong = 't.Run("inner", func(t *testing.T) { t.Error("wrong") }); panic("and worse")'
    assert verb._run([go_suite(checkout, wrong)]) == Exit.FAIL
    told = capfd.readouterr().out
    assert "wrong" in told
    assert "panic: and worse" in told
    assert "--- FAIL: TestOther" in told
    assert "all is well" not in told


def test_what_does_not_compile_is_told() -> None:
    said: list[str] = []
    event = json.dumps({"ImportPath": "saboteur", "Action": "build-output", "Output": "syntax error\n"})
    assert go_tests.tell([event, "go: no such package\n"], said.append) == []
    assert said == ["syntax error\n", "go: no such package\n"]


def test_the_go_suite_judges_skips() -> None:
    suite = next(suite for suite in verb.suites() if suite.name == "go test -race")
    assert suite.run is go_tests.run
    assert "-json" in suite.command


def test_the_guest_kernel_is_built_before_any_test_runs() -> None:
    names = [suite.name for suite in verb.suites()]
    assert names.index("guest kernel") < names.index("pytest") < names.index("pytest in real time")
