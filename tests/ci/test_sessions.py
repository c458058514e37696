"""What the sessions of noxfile.py and ``./run.sh test`` make of tests: one on a real clock gets a second try, and
everybody is told; a skip for which the machine has no reason fails; each test has a session that carries it out."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nox.registry
import pytest
from nox.command import CommandFailed

import noxfile
from testbed import paths
from testbed.cli import junit
from testbed.cli import test as verb
from testbed.errors import BadInput
from testbed.exit_codes import Exit
from testbed.judge.history import git
from tests import conftest

PROFILE = 'from hypothesis import settings\n\nsettings.register_profile("push")\n'


class Failed(Exception):
    """The session has failed."""


@dataclasses.dataclass
class Session:
    """What the noxfile uses of nox's, in a folder."""

    name: str
    folder: Path
    posargs: tuple[str, ...] = ()

    def run(self, *command: str, env: dict[str, str], **_: Any) -> bool:
        done = subprocess.run(command, cwd=self.folder, env={**os.environ, **env}, check=False)
        if done.returncode:
            raise CommandFailed(return_code=done.returncode)
        return True

    def log(self, text: str) -> None:
        print(text, flush=True)

    def error(self, text: str) -> None:
        raise Failed(text)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text(PROFILE)
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)
    monkeypatch.setattr(noxfile, "build_programs", (tmp_path / "built").touch)
    monkeypatch.setattr(junit, "FOLDER", tmp_path / "junit")
    junit.FOLDER.mkdir()
    return tmp_path


def write(checkout: Path, *lines: str, name: str = "one") -> None:
    (checkout / "tests" / f"test_{name}.py").write_text("\n".join(["from pathlib import Path", *lines]) + "\n")


def carry_out(checkout: Path, *arguments: str, name: str = "session", **options: Any) -> bool:
    """Whether a session with these tests is green."""
    session: Any = Session(name, checkout)
    try:
        noxfile.pytest(session, *(arguments or ("tests",)), **options)
    except Failed:
        return False
    return True


def ended(checkout: Path, code: int = 0) -> int:
    """What ``./run.sh test`` ends with, after one session whose tests are in the checkout's JUnit files."""
    one = {"name": "session", "duration": 1.0, "result": "success" if not code else "failed", "result_code": 1 - code}
    report = checkout / "report.json"
    report.write_text(json.dumps({"sessions": [one]}))
    return verb.report_of(code, report)


FAILS_AT_FIRST = (
    "def test_late():",
    "    seen = Path('seen')",
    "    there = seen.exists()",
    "    seen.touch()",
    "    assert there",
)


def test_a_test_that_fails_once_passes_and_is_told_of(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good = ("def test_good():", "    with Path('good').open('a') as file:", "        file.write('x')")
    write(checkout, *good, *FAILS_AT_FIRST)
    assert carry_out(checkout, second_try=True)
    assert (checkout / "good").read_text() == "x", "only what failed is run again"
    capfd.readouterr()
    assert ended(checkout) == Exit.PASS
    assert capfd.readouterr().out.splitlines() == [
        "passed only at the second try: tests.test_one::test_late",
        "     1 s  session: passed",
        "sessions: 1 passed, 0 failed, 0 not begun; second tries: 1",
        "tests: 2 passed, 0 failed, 0 skipped",
    ]


def test_programs_are_built_before_the_tests_which_use_them_as_they_are(checkout: Path) -> None:
    write(checkout, "import os", "def test_a(): assert Path('built').exists()")
    write(checkout, "import os", "def test_b(): assert os.environ['NCP_TESTBED_NO_BUILD'] == '1'", name="two")
    assert carry_out(checkout)


def test_without_a_second_try_it_fails(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(checkout, *FAILS_AT_FIRST)
    assert not carry_out(checkout)
    assert ended(checkout, code=1) == Exit.FAIL
    assert capfd.readouterr().out.endswith("second tries: 0\ntests: 0 passed, 1 failed, 0 skipped\n")


def test_what_fails_twice_has_failed(checkout: Path) -> None:
    write(checkout, "def test_bad(): assert False")
    assert not carry_out(checkout, second_try=True)
    assert junit.second_tries(junit.cases(junit.FOLDER.glob("*.xml"))) == []


def test_many_failures_are_no_accident(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(checkout, *FAILS_AT_FIRST, "def test_bad(): assert False")
    assert not carry_out(checkout, second_try=True)
    assert "once more" not in capfd.readouterr().out


def test_pytest_that_breaks_down_gets_no_second_try(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(checkout, "import os", "def test_a(): os._exit(1)")
    assert not carry_out(checkout, second_try=True)
    assert "once more" not in capfd.readouterr().out
    assert not carry_out(checkout, "no-such-folder", second_try=True)


def test_two_that_pass_at_the_second_try_fail_the_run(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each in a session of its own, where each is the only one."""
    for name in ("one", "two"):
        write(checkout, *(line.replace("'seen'", f"'{name}'") for line in FAILS_AT_FIRST), name=name)
        assert carry_out(checkout, f"tests/test_{name}.py", name=name, second_try=True)
    assert ended(checkout) == Exit.FAIL
    assert "failed: 2 tests passed only at the second try, at most 1 may\n" in capfd.readouterr().out


def test_a_session_that_fails_keeps_others_from_beginning(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = ("import nox", "nox.options.default_venv_backend = 'none'", "@nox.session(allow_parallel=True)")
    bad = ("def bad(session): session.error('no')", "@nox.session(requires=['bad'], allow_parallel=True)")
    other = ("def late(session): pass", "@nox.session(allow_parallel=True)", "def good(session): pass")
    (checkout / "noxfile.py").write_text("\n".join((*lines, *bad, *other)))
    assert verb.carry_out([]) == Exit.FAIL
    out = capfd.readouterr().out
    assert "bad: failed\n" in out
    assert "late: not begun\n" in out
    assert out.endswith("sessions: 1 passed, 1 failed, 1 not begun; second tries: 0\n1 passed, 1 failed\n")


def test_a_run_of_no_session_is_no_success(checkout: Path) -> None:
    assert verb.report_of(0, checkout / "none.json") == Exit.FAIL


@pytest.mark.parametrize("workers", [0, 2], ids=["alone", "with workers"])
def test_skips_without_an_accepted_reason_fail_the_session(
    checkout: Path, capfd: pytest.CaptureFixture[str], workers: int
) -> None:
    """Also where a test has failed that passes at its second try. One that tried something twice inside counts."""
    (checkout / ".git").mkdir()
    write(
        checkout,
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
        f"def test_h(request): request.node.user_properties.append(({junit.SECOND_TRY!r}, 'late'))",
    )
    write(checkout, "import pytest", "pytest.skip('no time for all', allow_module_level=True)", name="two")
    write(checkout, "import pytest", "pytest.importorskip('no_such_module')", name="three")
    assert not carry_out(checkout, second_try=True, workers=workers)
    out = capfd.readouterr().out
    found = set(re.findall(r"^skipped without an accepted reason: (?:tests\.)?(\S+?)\b: ([^:(]*\w)", out, re.MULTILINE))
    assert found == {
        ("test_one::test_a", "no time today"),
        ("test_one::test_b", "no reason"),
        ("test_one::test_c", "unconditional skip"),
        ("test_one::test_d", "no time at all"),
        ("test_one::test_e", "known to be wrong"),
        ("test_one::test_f", "no time for this"),
        ("test_one::test_g", "this checkout has no history"),
        ("test_two", "no time for all"),
        ("test_three", "could not import 'no_such_module"),
    }
    assert "test_g: this checkout has no history: not accepted on this machine" in out
    again = junit.second_tries(junit.cases(junit.FOLDER.glob("*.xml")))
    assert sorted(again) == ["tests.test_one::test_h", "tests.test_one::test_late"]


def test_a_skip_with_an_accepted_reason_passes(checkout: Path) -> None:
    write(checkout, "import pytest", "def test_a(): pass", "def test_b(): pytest.skip('this checkout has no history')")
    assert carry_out(checkout)
    assert junit.counts(junit.cases(junit.FOLDER.glob("*.xml"))) == (1, 0, 1)


def test_each_accepted_reason_is_refused_where_its_condition_does_not_hold() -> None:
    here = "not accepted on this machine (testbed/cli/junit.py)"
    assert junit.objection("needs a cat", {"needs .*": lambda: False}) == f"needs a cat: {here}"
    assert junit.objection("needs a cat", {"needs .*": lambda: True}) is None
    assert junit.objection("that needs a cat", {"needs .*": lambda: True}) == (
        "that needs a cat: not among the accepted reasons (testbed/cli/junit.py)"
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
    assert "not accepted on this machine" in str(junit.objection(reason))


def test_what_the_skips_of_this_checkout_say_is_among_the_reasons() -> None:
    """Each of them is accepted somewhere: none would fail on every machine."""
    said = [
        match[1]
        for folder in ("tests", *noxfile.go_folders())
        for path in (paths.CHECKOUT / folder).rglob("*")
        if path.suffix in (".py", ".go") and path != Path(__file__)
        for match in re.finditer(
            r"(?:pytest\.skip\(|skipif\(.*reason=|mark\.skip\(reason=|t\.Skip\()f?\"(.*?)[\"{]", path.read_text()
        )
    ]
    assert len(said) > 8
    for reason in said:
        known = any(re.match(pattern.removesuffix(" .*"), reason) for pattern in junit.ACCEPTED)
        assert known or reason in RAPID_DRAWS, reason


RAPID_DRAWS = ("there is no other", "the last one leaves no gap")
"""Of generated inputs that are drawn again: no test is skipped."""

GO_TESTS = """package saboteur

import (
	"os"
	"testing"
)

func TestGood(t *testing.T) { t.Log("all is well") }

func TestLate(t *testing.T) {
	_, missing := os.Stat("seen")
	os.WriteFile("seen", nil, 0o644)
	if missing != nil {
		t.Error("late")
	}
}

func TestOther(t *testing.T) { %s }
"""


def go(checkout: Path, body: str, *arguments: str) -> bool:
    """Whether the session in Go is green, of a module with some tests."""
    for name in ("go.mod", "go.sum"):
        text = (noxfile.ROOT / name).read_text()
        (checkout / name).write_text(text.replace("module ncp-testbed", "module saboteur"))
    (checkout / "saboteur_test.go").write_text(GO_TESTS % body)
    session: Any = Session("go", checkout)
    try:
        noxfile.test_go(session, *arguments)
    except Failed:
        return False
    return True


def test_skips_in_go_without_an_accepted_reason_fail_the_session(
    checkout: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also where a test has failed that passes at its second try, which is counted."""
    (checkout / ".git").mkdir()
    reasons = {
        "time": 't.Skip("no time today")',
        "log": 't.Log("needs root, for namespaces"); t.Skip("no time")',
        "now": "t.SkipNow()",
        "git": 't.Skip("this checkout has no history")',
    }
    body = "".join(f't.Run("{name}", func(t *testing.T) {{ {skip} }});' for name, skip in reasons.items())
    assert not go(checkout, body)
    out = capfd.readouterr().out
    found = set(re.findall(r"^skipped without an accepted reason: saboteur::TestOther/(.*)", out, re.MULTILINE))
    listed = "not among the accepted reasons (testbed/cli/junit.py)"
    assert found == {
        f"time: no time today: {listed}",
        f"log: no time: {listed}",
        f"now: no reason: {listed}",
        "git: this checkout has no history: not accepted on this machine (testbed/cli/junit.py)",
    }
    assert junit.second_tries(junit.cases(junit.FOLDER.glob("*.xml"))) == ["saboteur::TestLate"]
    (checkout / ".git").rmdir()
    assert go(checkout, 't.Skip("this checkout has no history")')
    assert not go(checkout, 't.Run("inner", func(t *testing.T) { t.Error("wrong") }); panic("and worse")')
    assert "panic: and worse" in capfd.readouterr().out
    assert not go(checkout, "this does not compile")


def test_an_unknown_session_is_bad_input() -> None:
    with pytest.raises(BadInput, match=r"there is no session 'rufff'; did you mean 'ruff'\?"):
        verb.carry_out(["ruff", "rufff"])


# ---- Which session carries a test out


def test_each_part_has_a_session_on_every_push_or_is_of_a_night() -> None:
    sessions = set(nox.options.sessions or ())
    assert set(nox.registry.get()) >= sessions
    for part in conftest.PARTS:
        assert part in sessions or part == "nightly"
        if part in sessions:
            source = ast.unparse(ast.parse((paths.CHECKOUT / "noxfile.py").read_text()))
            assert re.search(rf"pytest\(session,.* '--part={part}'", source), part


def test_folders_of_quick_tests_are_there() -> None:
    assert {name for name in conftest.PURE if not (paths.CHECKOUT / "tests" / name).is_dir()} == set()


def collected(*arguments: str) -> tuple[int, list[str]]:
    """The exit code of a collection and what it said."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=paths.CHECKOUT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines() + done.stderr.splitlines()


def test_no_session_leaves_out_a_file_that_has_tests_of_it() -> None:
    """Of all tests: where a file's words don't tell what part one is of, collecting it is an error."""
    code, said = collected()
    assert code == 0, said


@pytest.mark.parametrize(("text", "parts"), [("pytestmark = pytest.mark.packets", ["packets"]), ("", [])])
def test_a_mark_that_is_not_in_its_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, parts: list[str]
) -> None:
    file = tmp_path / "plan" / "test_one.py"
    file.parent.mkdir()
    file.write_text(text)
    monkeypatch.setattr(conftest, "TESTS", tmp_path)
    of_packets = {"get_closest_marker": "packets".__eq__, "add_marker": [].append}
    marked: Any = SimpleNamespace(nodeid="one", path=file, **of_packets)
    config: Any = SimpleNamespace(getoption={"part": []}.get)
    assert conftest.parts_of_file(file) == {"pure", *parts}
    with contextlib.nullcontext() if parts else pytest.raises(pytest.UsageError):
        conftest.pytest_collection_modifyitems([marked], config)


def requirements(name: str) -> set[str]:
    """All sessions that come before one."""
    direct = set(nox.registry.get()[name].requires)
    return direct.union(*(requirements(one) for one in direct))


def test_what_fails_earliest_comes_first() -> None:
    assert requirements("pure") == {"ruff", "gofmt", "imports"}
    assert "pure" in requirements("mypy") & requirements("go") & requirements("golden")
    assert {"mypy", "go", "golden", "pure"} <= requirements("alone")
    assert all("alone" in requirements(name) for name in ("packets", "guest", "runs", "saboteurs"))


def test_the_guest_kernel_is_built_before_any_test_in_a_guest() -> None:
    assert "guest-kernel" in requirements("guest")


def test_nothing_runs_beside_those_that_need_the_machine() -> None:
    every = nox.registry.get()
    assert not every["alone"].allow_parallel
    assert every["packets"].allow_parallel


def test_gofmt_sees_every_folder() -> None:
    if not (paths.CHECKOUT / ".git").exists():
        pytest.skip("this checkout has no history")
    listed = git("ls-files", "*.go").stdout.decode().split()
    assert set(noxfile.go_folders()) >= {name.partition("/")[0] for name in listed} >= {"internal", "peers"}


def test_a_push_draws_the_same_examples_and_a_night_others_that_it_keeps() -> None:
    """Also where CI is set, for which Hypothesis has a profile of its own."""
    asked = (
        "from hypothesis import settings; import tests.conftest; p, n = map(settings.get_profile, ('push', 'night'))"
    )
    told = "print(p.derandomize, p.deadline, n.derandomize, n.deadline, n.database is not None)"
    done = subprocess.run(
        [sys.executable, "-c", f"{asked}; {told}"],
        cwd=paths.CHECKOUT,
        env={**os.environ, "CI": "true", "PYTHONPATH": str(paths.CHECKOUT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "None", "False", "None", "True"]
    environments = ast.unparse(ast.parse((paths.CHECKOUT / "noxfile.py").read_text()))
    assert "test_go(session, '-race', **SAME_EACH_TIME)" in environments
    assert "test_go(session, '-race', '-count=1')" in environments
