"""``doctor``: what this machine has, what it lacks and how to get it."""

from __future__ import annotations

import sys

import typer

from testbed.exit_codes import Exit
from testbed.machine.finding import Finding
from testbed.plan.engines import DEFAULT


def doctor(
    fix: bool = typer.Option(False, "--fix", help="Install what is missing."),
    build: bool = typer.Option(False, "--build", help="Also build the Go programs and the guest kernel."),
) -> None:
    """Check this machine, and say what is missing and how to fix it.

    Ends with 4 if a run would not work: as root on real packets, else in virtual time; or if --build can't
    build something.
    """
    from testbed import engines
    from testbed.machine import Need, lacking, make_ready, probe_all
    from testbed.runtime.progress import Progress

    if fix:
        make_ready(Progress(), engines.named(DEFAULT).needs() | {Need.MPTCP})
    not_built = _build() if build else None
    findings = probe_all()
    for finding in findings:
        _tell(finding)
    every = engines.every()
    lacks = {engine.name: lacking(findings, engine.needs()) for engine in every}
    for engine in every:
        print(f"{f'./run.sh SCENARIO --engine {engine.name}':<36} {_answer(lacks[engine.name])}")
    if not_built:
        print(f"The guest kernel with virtual time was not built. {not_built}", file=sys.stderr)
    here = every[:1] if every[0].for_this_user() else every[1:]
    works = any(not lacks[engine.name] for engine in here)
    raise typer.Exit(Exit.PASS if works and not not_built else Exit.CANNOT_RUN)


def _answer(lacks: list[Finding]) -> str:
    from testbed.machine import installable

    if not lacks:
        return "yes"
    word = "yes, once it has installed" if installable(lacks) else "no; missing:"
    return f"{word} {', '.join(finding.name for finding in lacks)}"


def _build() -> str | None:
    """Build the Go programs and the guest kernel, installing what builds them; tells what a kernel lacks that can't
    be built."""
    from testbed.engines import named
    from testbed.engines.vkernel.build import build as build_kernel
    from testbed.machine import guest_kernel as kernel
    from testbed.machine import make_ready
    from testbed.machine.build import build_programs
    from testbed.runtime.progress import Progress

    progress = Progress()
    make_ready(progress, "show")
    print(f"built {', '.join(str(path) for path in build_programs().values())}")
    if kernel.built() is None:
        make_ready(progress, named("vkernel").needs())
        if lacks := kernel.why_not_buildable():  # Debian's own kernel stands in
            return lacks
        build_kernel(progress)
    return None


def _tell(finding: Finding) -> None:
    if finding.level == "fact":
        mark = "fact"
    else:
        mark = "ok" if finding.ok else {"required": "MISSING", "optional": "low"}[finding.level]
    print(f"  {mark:<8} {finding.name:<19} {finding.detail}")
    if not finding.ok and finding.level != "fact":
        print(f"  {'':<8} {'':<19} for: {finding.why}; fix: {finding.fix}")
