"""The kernel's own tests (``tools/testing/selftests/net``), unmodified, from the source package that the guest is built
of; case by case, as they report in TAP."""

import re
import statistics
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from testbed.documents import write_csv
from testbed.engines.vkernel.checkout import cached
from testbed.errors import BadInput, CannotRun
from testbed.machine import guest_kernel as kernel
from testbed.message import unknown

SUITE = "net/mptcp"
PARTS = (f"{SUITE}/*", "net/lib.sh", "net/net_helper.sh", "net/lib/*", "kselftest*")
PROGRAMS = ("mptcp_connect", "mptcp_inq", "mptcp_sockopt", "pm_nl_ctl")


class Case(NamedTuple):
    """One case of a test."""

    name: str
    passed: bool
    time_ms: int | None
    """The duration; None where the test says none."""
    limit_ms: int | None
    """The limit of the duration."""


def folder() -> Path:
    """The tests with their programs, unpacked and compiled once; raises :class:`CannotRun` where they can't be."""
    if lacking := kernel.why_not_buildable():
        raise CannotRun("selftest.no-source", "the kernel's tests are in its source package", f"{lacking}")
    return cached("selftests", kernel.recipe_digest(), _make)


def _make(target: Path) -> None:
    places = [f"*/tools/testing/selftests/{part}" for part in PARTS]
    unpack = ["tar", "-xJf", str(kernel.SOURCE), "-C", str(target), "--strip-components=4", "--wildcards", *places]
    subprocess.run(unpack, check=True, capture_output=True)
    for name in PROGRAMS:
        file = target / SUITE / name
        subprocess.run(["gcc", "-O2", "-I", str(target), "-o", file, f"{file}.c"], check=True, capture_output=True)


def command(test: str) -> list[str]:
    """The command of a test in :func:`folder`; raises :class:`BadInput` where there is none of that name."""
    known = sorted(path.stem for path in (folder() / SUITE).glob("*.sh") if path.stem != "mptcp_lib")
    if test not in known:
        raise BadInput.of(unknown("selftest.no-such-test", "test", test, known))
    return ["sh", "-c", f"cd {SUITE} && exec ./{test}.sh"]


def cases(output: str) -> Iterator[Case]:
    """The cases in a test's output, in their order."""
    limits = {name.strip(): int(limit) for name, limit in re.findall(r"^\d+ (.+?) +max (\d+) ", output, re.MULTILINE)}
    for not_, name, rest in re.findall(r"^(not )?ok \d+ - [\w-]+: ([^#\n]+?) *(?:# (.*))?$", output, re.MULTILINE):
        time = re.search(r"time=(\d+)ms", rest)
        yield Case(name, not not_, int(time[1]) if time else None, limits.get(name))


def by_name(found: Mapping[int, Sequence[Case]]) -> dict[str, list[Case]]:
    """Each case in all seeds, by its name."""
    names: dict[str, list[Case]] = {}
    for each in found.values():
        for case in each:
            names.setdefault(case.name, []).append(case)
    return names


def summary(found: Mapping[int, Sequence[Case]]) -> Iterator[str]:
    """A line for each case: how often it passed, and its times beside its limit."""
    for name, each in by_name(found).items():
        passed, times = sum(case.passed for case in each), sorted(case.time_ms for case in each if case.time_ms)
        took = f"{times[0]} to {times[-1]} ms, median {statistics.median(times):.0f}" if times else "no time"
        limit = f", limit {each[0].limit_ms}" if each[0].limit_ms else ""
        yield f"  {'pass' if passed == len(each) else 'FAIL':<11} {passed} of {len(each)}  {name}: {took}{limit}"


def write_report(folder: Path, test: str, found: Mapping[int, Sequence[Case]]) -> None:
    """``cases.csv``, and ``cases.svg`` with each case's times in parts of its limit; those without are left out."""
    rows = [{"seed": seed, **case._asdict()} for seed, each in found.items() for case in each]
    write_csv(folder / "cases.csv", rows, ("seed", *Case._fields))
    from testbed.results.report import style

    timed = {
        name: [case.time_ms / case.limit_ms for case in each if case.time_ms and case.limit_ms]
        for name, each in by_name(found).items()
    }
    timed = {name: times for name, times in timed.items() if times}
    with style.canvas((7.0, 1.2 + 0.3 * len(timed))) as figure:
        axes = figure.subplots()
        for place, times in enumerate(timed.values()):
            axes.plot(times, [place] * len(times), "|", markersize=10, alpha=0.6, color=style.colour(place))
        axes.axvline(1, color="black", linewidth=1)
        axes.set_yticks(range(len(timed)), list(timed))
        axes.set(xlabel="duration over its limit", title=f"{test}: {len(found)} seeds", ylim=(len(timed) - 0.5, -0.5))
        description = "Each case's durations, in parts of the limit above which it fails"
        (folder / "cases.svg").write_text(style.to_svg(figure, "cases", description), encoding="utf-8")
