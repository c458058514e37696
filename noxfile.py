"""Linters and tests, a session each, in this environment. ``./run.sh test`` carries them out, two at a time.

What fails earliest comes first: linters in seconds; quick tests; types beside Go; golden files; tests that need the
machine for themselves; then real packets, beside all that takes processor time, at low priority. A session begins when
those that it requires are green. JUnit files of all tests are left in .build/test/.
"""

import os
import shlex
import sys
from pathlib import Path

import nox
from nox.command import CommandFailed

from testbed.cli import junit
from testbed.machine.build import build_programs, go_tool

nox.needs_version = ">=2026.10.20"
nox.options.default_venv_backend = "none"
nox.options.error_on_external_run = False

ROOT = Path(__file__).parent
BIN = Path(sys.executable).parent
ENVIRONMENT = {
    # A compiled package is then the same in each checkout, and Go's cache has it for all of them.
    "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -trimpath".strip(),
    "GOTOOLCHAIN": "local",  # never download a compiler behind the user's back
    # Under the race detector each test binary, and each program that it starts, would sleep for a second at its end.
    "GORACE": "atexit_sleep_ms=0",
    "PYTHONPATH": str(ROOT),
}
SAME_EACH_TIME = {"RAPID_SEED": "1"}
"""Seed of properties in Go. Those in Python: Hypothesis' profile in tests/conftest.py."""
BESIDE_REAL_TIME = ("nice", "-n", "19")
"""Prefix of commands that take processor time while real packets are sent."""
EACH_BY_ITSELF = ("--dist", "worksteal")
"""Options for files with many slow tests."""
QUICK = ["ruff", "gofmt", "imports"]
EXACT = ["mypy", "vet", "go", "golden", "shellcheck", "actionlint", "ansible-lint"]
SHELL_SCRIPTS = (
    "run.sh",
    ".ci/run",
    "playbooks/files/cluster-service",
    "playbooks/files/docker-engine",
    "images/vkernel/engine-init",
    "images/vkernel/kernel/build.sh",
)


def run(session: nox.Session, *command: str | Path, **environment: str) -> bool:
    """Whether a command of the checkout succeeds; its output is the session's."""
    try:
        session.run(*map(str, command), external=True, env={**ENVIRONMENT, **environment})
    except CommandFailed:
        return False
    return True


def need(session: nox.Session, *command: str | Path) -> None:
    """Run a command that must succeed."""
    if not run(session, *command):
        session.error(f"failed: {shlex.join(map(str, command))}")


def said(session: nox.Session, *command: str) -> list[str]:
    """The words that a command prints."""
    text = session.run(*command, external=True, silent=True, env=ENVIRONMENT)
    assert isinstance(text, str)
    return text.split()


def pytest(
    session: nox.Session,
    *arguments: str,
    workers: int = 0,
    nicely: bool = False,
    second_try: bool = False,
    profile: str = "push",
) -> None:
    """Run tests. ``second_try``: where a single one fails, it is run once more, which is counted."""
    name = session.name
    command: list[str | Path] = [
        *(BESIDE_REAL_TIME if nicely else ()),
        *(sys.executable, "-m", "pytest", f"--hypothesis-profile={profile}"),
        # Sessions run side by side: each has a cache of its own.
        *("-o", f"cache_dir={junit.FOLDER / 'cache' / name}"),
        # A file's tests have one worker, so that what they share is made once.
        *(("-n", str(workers), "--dist", "loadfile") if workers else ()),
        *(*arguments, *session.posargs),
    ]
    first, again = junit.FOLDER / f"{name}.xml", junit.FOLDER / f"{name}-again.xml"
    for file in (first, again):
        file.unlink(missing_ok=True)
    build_programs()  # for all tests of the session, each of which would else ask Go whether anything changed
    passed = run(session, *command, f"--junitxml={first}", NCP_TESTBED_NO_BUILD="1")
    if not passed and second_try and len(failed := junit.failed([first])) == 1:
        session.log(f"once more: {failed[0]}")
        command += ["--last-failed", "--last-failed-no-failures=none", f"--junitxml={again}"]
        passed = run(session, *command, NCP_TESTBED_NO_BUILD="1")
    judge(session, passed, first, again)


def judge(session: nox.Session, passed: bool, *files: Path) -> None:
    """End the session by whether its tests passed and what their JUnit files say of skips."""
    refused = junit.refused(junit.cases(file for file in files if file.exists()))
    for line in refused:
        print(f"skipped without an accepted reason: {line}", flush=True)
    spent = os.times()
    session.log(f"processor time: {spent.children_user + spent.children_system:.0f} s")
    if not passed or refused:
        session.error("tests failed" if not passed else "tests were skipped")


@nox.session(allow_parallel=True)
def ruff(session: nox.Session) -> None:
    """Python: mistakes and format."""
    need(session, BIN / "ruff", "check", ".")
    need(session, BIN / "ruff", "format", "--check", ".")


@nox.session(allow_parallel=True)
def gofmt(session: nox.Session) -> None:
    """Go: format, of each file that there is."""
    (goroot,) = said(session, go_tool(), "env", "GOROOT")  # `go` itself may be a script elsewhere that starts it
    if wrong := said(session, f"{goroot}/bin/gofmt", "-l", *go_folders()):
        session.error(f"not formatted: {' '.join(wrong)}")


def go_folders() -> list[str]:
    """Folders of the checkout with Go sources of its own."""
    files = [file.relative_to(ROOT).parts for file in ROOT.glob("[a-z]*/**/*.go")]
    return sorted({parts[0] for parts in files if "node_modules" not in parts} - {"mutants", "results"})


@nox.session(allow_parallel=True)
def imports(session: nox.Session) -> None:
    """A package imports only those below it (pyproject.toml, tool.importlinter)."""
    need(session, BIN / "lint-imports", "--no-cache")


@nox.session(requires=QUICK)
def pure(session: nox.Session) -> None:
    """Tests that make no run, start no server and need no root; the first that fails ends it."""
    pytest(session, "-x", "--part=pure", workers=2)


@nox.session(requires=["pure"], allow_parallel=True)
def mypy(session: nox.Session) -> None:
    """Python: types."""
    need(session, BIN / "mypy")


@nox.session(requires=["pure"], allow_parallel=True)
def vet(session: nox.Session) -> None:
    """Go: mistakes."""
    need(session, go_tool(), "vet", "./...")
    need(session, go_tool(), "tool", "staticcheck", "./...")


@nox.session(requires=["pure"], allow_parallel=True)
def go(session: nox.Session) -> None:
    """Go: tests with the race detector. One that fails alone is run once more, which is counted."""
    test_go(session, "-race", **SAME_EACH_TIME)


def test_go(session: nox.Session, *arguments: str, **environment: str) -> None:
    """Run the tests in Go."""
    file = junit.FOLDER / f"{session.name}.xml"
    file.unlink(missing_ok=True)
    once_more = ("--rerun-fails=1", "--rerun-fails-max-failures=1", "--packages=./...")
    command = (go_tool(), "tool", "gotestsum", "--format=pkgname", *once_more, f"--junitfile={file}")
    judge(session, run(session, *command, "--", *arguments, **environment), file)


@nox.session(requires=["pure"], allow_parallel=True)
def shellcheck(session: nox.Session) -> None:
    """Shell scripts: mistakes."""
    need(session, BIN / "shellcheck", *SHELL_SCRIPTS, *sorted(ROOT.glob("tests/**/*.sh")))


@nox.session(requires=["pure"], allow_parallel=True)
def actionlint(session: nox.Session) -> None:
    """Workflows: mistakes."""
    if not list(ROOT.glob(".github/workflows/*.yml")):
        session.skip("there are no workflows")
    need(session, go_tool(), "tool", "actionlint")


@nox.session(name="ansible-lint", requires=["pure"], allow_parallel=True)
def ansible_lint(session: nox.Session) -> None:
    """Playbooks: mistakes."""
    need(session, BIN / "ansible-lint", "--offline", "playbooks")


@nox.session(requires=["pure"], allow_parallel=True)
def golden(session: nox.Session) -> None:
    """Files that later versions must reproduce: plans, telemetry, run ids."""
    pytest(session, "--part=golden", *EACH_BY_ITSELF, workers=2)


@nox.session(requires=EXACT)
def alone(session: nox.Session) -> None:
    """Tests of a starved machine and of round trips, with nothing beside them."""
    pytest(session, "--part=alone", second_try=True)


@nox.session(requires=["alone"], allow_parallel=True)
def packets(session: nox.Session) -> None:
    """Runs on real packets in real time, one after the other.

    A shared machine stands still now and then for a part of a second, in the middle of whatever is judged: what fails
    for that does not fail twice.
    """
    pytest(session, "--part=packets", second_try=True)


@nox.session(name="guest-kernel", requires=["alone"], allow_parallel=True)
def guest_kernel(session: nox.Session) -> None:
    """The kernel of guests in virtual time, where it is not built yet; for minutes."""
    need(session, *BESIDE_REAL_TIME, sys.executable, "-m", "tests.vkernel.kernel_for_tests")


@nox.session(requires=["guest-kernel"], allow_parallel=True)
def guest(session: nox.Session) -> None:
    """Runs in a guest kernel, in virtual time."""
    # In the order of the files: those with fewest tests are no shorter than others.
    pytest(session, "--part=guest", "--no-loadscope-reorder", workers=2, nicely=True)


@nox.session(requires=["alone"], allow_parallel=True)
def runs(session: nox.Session) -> None:
    """Runs in the simulator, servers, browsers, programs and users of one's own."""
    # Many wait for servers, browsers and limits of time; one more than there are processors leaves none of these idle.
    pytest(session, "--part=runs", workers=3, nicely=True)


@nox.session(requires=["alone"], allow_parallel=True)
def saboteurs(session: nox.Session) -> None:
    """Deliberate defects, one of each class and level, each of which must be caught."""
    pytest(session, "--part=saboteurs", *EACH_BY_ITSELF, workers=2, nicely=True)


nox.options.sessions = [*QUICK, "pure", *EXACT, "alone", "packets", "guest-kernel", "guest", "runs", "saboteurs"]
"""Sessions of every push; those below are for the night (.ci/run)."""

OF_OTHER_SESSIONS = {"saboteurs-all": "tests/sabotage", "pages": "tests/docs"}
"""The folders whose nightly tests are not in the session "nightly"."""


@nox.session
def nightly(session: nox.Session) -> None:
    """Tests that take longer than a push may wait."""
    elsewhere = [f"--ignore={folder}" for folder in OF_OTHER_SESSIONS.values()]
    pytest(session, "--part=nightly", *elsewhere, profile="night")


@nox.session(name="saboteurs-all")
def saboteurs_all(session: nox.Session) -> None:
    """Each deliberate defect."""
    pytest(
        session,
        "-m",
        "(saboteurs or nightly) and not packets",
        *EACH_BY_ITSELF,
        OF_OTHER_SESSIONS[session.name],
        workers=2,
    )


@nox.session(name="saboteurs-packets")
def saboteurs_packets(session: nox.Session) -> None:
    """Some of the deliberate defects on real packets."""
    pytest(session, "-m", "packets", OF_OTHER_SESSIONS["saboteurs-all"])


@nox.session
def pages(session: nox.Session) -> None:
    """The site in a browser, and the tutorial word for word."""
    pytest(session, "--part=nightly", OF_OTHER_SESSIONS[session.name])


@nox.session
def properties(session: nox.Session) -> None:
    """All properties in Python with other examples each time, and with many where files are decoded."""
    session.env["NCP_TESTBED_EXAMPLES"] = "3000"
    files = [str(file) for file in sorted(ROOT.glob("tests/**/test_*.py")) if "from hypothesis" in file.read_text()]
    pytest(session, "--part=pure", "--part=runs", "--timeout=3600", *files, workers=2, profile="night")


@nox.session(name="properties-go")
def properties_go(session: nox.Session) -> None:
    """All tests in Go, with other examples each time."""
    test_go(session, "-race", "-count=1")
