"""``test``: linters, unit tests and tests on real namespaces, containers and InfluxDB."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from testbed import paths
from testbed.build import go_tool
from testbed.cli import go_tests
from testbed.doctor import make_ready
from testbed.errors import BadInput, Exit
from testbed.runner.progress import Progress

SHELL_SCRIPTS = (
    "run.sh",
    ".ci/run",
    "playbooks/files/cluster-service",
    "playbooks/files/docker-engine",
    "images/vkernel/engine-init",
    "images/vkernel/kernel/build.sh",
)

GO_FOLDERS = ("agents", "collectors", "link", "ncp-agent", "ndn-agent", "program", "schemas", "tcp", "telemetry")

REAL_TIME = "packets"
"""Tests by their marker (pyproject.toml): of networks on this machine, which is disturbed if it is busy."""

NIGHTLY = "nightly"
"""Tests that take longer than a push may wait for."""


def _code_of(command: tuple[str, ...], environment: Mapping[str, str]) -> int:
    return subprocess.run(
        command, cwd=paths.CHECKOUT, env=environment, stdin=subprocess.DEVNULL, check=False
    ).returncode


@dataclass(frozen=True)
class Suite:
    """One tool over the checkout; ``command`` is run in the checkout."""

    name: str
    command: tuple[str, ...]
    again: tuple[str, ...] = ()
    """Further arguments with which the tests that failed are run once more, if they are few; () for never."""
    run: Callable[[tuple[str, ...], Mapping[str, str]], int] = _code_of
    """Carries out a command in an environment; returns its exit code."""


def suites() -> list[Suite]:
    """Everything that ``./run.sh test`` runs, quick ones first."""

    go, tool = go_tool(), str(Path(sys.executable).parent)
    gofmt = shlex.quote(f"{_goroot(go)}/bin/gofmt")
    shell = [*SHELL_SCRIPTS, *(str(p.relative_to(paths.CHECKOUT)) for p in paths.CHECKOUT.glob("tests/**/*.sh"))]
    found = [
        Suite("ruff", (f"{tool}/ruff", "check", ".")),
        Suite("ruff format", (f"{tool}/ruff", "format", "--check", ".")),
        Suite("mypy", (f"{tool}/mypy",)),
        Suite(
            "mypy dashboards",
            (f"{tool}/mypy", "--python-version", "3.11", *_python_files("dashboards", "tests/dashboards")),
        ),
        Suite("imports", (f"{tool}/lint-imports", "--no-cache")),
        Suite("shellcheck", (f"{tool}/shellcheck", *shell)),
        Suite("ansible-lint", (f"{tool}/ansible-lint", "--offline", "playbooks")),
        Suite(
            "gofmt", ("sh", "-c", f'wrong=$({gofmt} -l {" ".join(GO_FOLDERS)}) && echo "$wrong" && test -z "$wrong"')
        ),
        Suite("go vet", (go, "vet", "./...")),
        Suite("staticcheck", (go, "tool", "staticcheck", "./...")),
        Suite("go test -race", (go, "test", "-race", "-json", "./..."), run=go_tests.run),
        # Built once, for minutes, and with nothing beside it that keeps real time.
        Suite("guest kernel", (sys.executable, "-m", "testbed.engines.vkernel.build")),
        Suite(
            "pytest",
            (
                *(sys.executable, "-m", "pytest", "-m", f"not {REAL_TIME} and not {NIGHTLY}"),
                *("-n", "logical", "--dist", "loadgroup", "tests"),
            ),
        ),
        # One after the other: they would hold each other up. A shared machine stands still now and then for a part
        # of a second, in the middle of whatever is judged: what fails for that does not fail twice.
        Suite(
            "pytest in real time",
            (sys.executable, "-m", "pytest", "-m", f"{REAL_TIME} and not {NIGHTLY}", "tests"),
            again=("--last-failed", "--last-failed-no-failures=none"),
        ),
    ]
    if list(paths.CHECKOUT.glob(".github/workflows/*.yml")):
        found.insert(5, Suite("actionlint", (go, "tool", "actionlint")))
    return found


def _goroot(go: str) -> str:
    """Where the toolchain is: `go` itself may be a script elsewhere that starts it."""
    return subprocess.run([go, "env", "GOROOT"], capture_output=True, text=True, check=True).stdout.strip()


def _python_files(*folders: str) -> list[str]:
    found = [path for folder in folders for path in (paths.CHECKOUT / folder).glob("*.py")]
    return sorted(str(path.relative_to(paths.CHECKOUT)) for path in found)


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("test")
    def test(
        only: Annotated[list[str] | None, typer.Argument(metavar="[SUITE]…", help="E.g. ruff or 'go vet'.")] = None,
    ) -> None:
        """Run linters and all tests. As root, the tests that need namespaces run too."""

        if os.geteuid() == 0:
            make_ready(Progress(), "test")
        every = suites()
        unknown = set(only or ()) - {suite.name for suite in every}
        if unknown:
            raise BadInput(f"there is no suite {unknown.pop()!r}; suites: {', '.join(s.name for s in every)}")
        raise typer.Exit(_run([suite for suite in every if not only or suite.name in only]))


def _run(chosen: list[Suite]) -> int:
    # GOTOOLCHAIN: never download a compiler behind the user's back.
    # GORACE: under the race detector each test binary, and each program that it starts, would sleep for a
    # second at its end.
    environment = {
        **os.environ,
        "GOTOOLCHAIN": "local",
        "GORACE": "atexit_sleep_ms=0",
        "PYTHONPATH": str(paths.CHECKOUT),
    }
    failed: list[str] = []
    repeated: list[str] = []
    _second_tries()  # of an earlier run
    for suite in chosen:
        start_s = time.monotonic()
        print(f"== {suite.name}", flush=True)
        code = suite.run(suite.command, environment)
        if code == TESTS_FAILED and suite.again and (names := _few_failed()):
            print(f"== {suite.name}: once more: {', '.join(names)}", flush=True)
            code = suite.run((*suite.command, *suite.again), environment)
            repeated += [] if code else names
        repeated += _second_tries()
        ok = code == 0
        print(f"== {suite.name}: {'ok' if ok else 'FAILED'} ({time.monotonic() - start_s:.1f} s)", flush=True)
        if not ok:
            failed.append(suite.name)
    for name in repeated:
        print(f"passed only at the second try: {name}")
    too_many = len(repeated) > MOST_REPEATED
    if too_many:
        print(f"failed: {len(repeated)} tests passed only at the second try, at most {MOST_REPEATED} may")
    if failed:
        print(f"failed: {', '.join(failed)}")
    print(f"suites: {len(chosen) - len(failed)} passed, {len(failed)} failed; second tries: {len(repeated)}")
    return Exit.FAIL if failed or too_many else Exit.PASS


TESTS_FAILED = 1
"""pytest's exit code where it ran all tests and some failed."""
MOST_REPEATED = 1
"""More second tries than this, in a whole run, are not a moment's."""
CACHE = Path(".pytest_cache", "v")
"""Where pytest keeps what is known of its last run, in the checkout."""


def _few_failed() -> list[str]:
    """The tests that failed in pytest's last run, by their ids; none if they are many."""
    failed = _cached("cache/lastfailed")
    return failed if len(failed) <= MOST_REPEATED else []


def _second_tries() -> list[str]:
    """The tests that pytest's last run told of as having tried twice by themselves (tests/silent_green.py), once."""
    found = _cached("silent-green/second-tries")
    (paths.CHECKOUT / CACHE / "silent-green" / "second-tries").unlink(missing_ok=True)
    return found


def _cached(key: str) -> list[str]:
    try:
        return list(json.loads((paths.CHECKOUT / CACHE / key).read_text()))
    except (OSError, ValueError):
        return []
