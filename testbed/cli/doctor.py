"""``doctor``: what this machine has, what it lacks and how to get it."""

from __future__ import annotations

import typer

from testbed.errors import Exit

NOT_FOR_RUNS = ("test tools", "mptcpize", "node", "npm packages", "ndnts packages")


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("doctor")
    def doctor(
        fix: bool = typer.Option(False, "--fix", help="Install what is missing."),
        build: bool = typer.Option(False, "--build", help="Also build the Go programs and the guest kernel."),
    ) -> None:
        """Check this machine: names what is missing and the fix. Ends with 4 if a run would not work."""
        from testbed.build import build_programs
        from testbed.doctor import make_ready, probe_all
        from testbed.runner.progress import Progress

        if fix:
            make_ready(Progress(), "table")
        if build:
            from testbed.vkernel import kernel
            from testbed.vkernel.build import build as build_kernel

            print(f"built {', '.join(str(path) for path in build_programs().values())}")
            if kernel.built() is None and not kernel.why_not_buildable():
                build_kernel(Progress())
        lacking = False
        for finding in probe_all():
            if finding.level == "fact":
                mark = "fact"
            else:
                mark = "ok" if finding.ok else {"required": "MISSING", "optional": "low"}[finding.level]
            # What tests, tables and other implementations need is no condition for running a scenario.
            lacking = lacking or (mark == "MISSING" and finding.name not in NOT_FOR_RUNS)
            print(f"  {mark:<8} {finding.name:<19} {finding.detail}")
            if not finding.ok and finding.level != "fact":
                print(f"  {'':<8} {'':<19} for: {finding.why}; fix: {finding.fix}")
        print("This machine can't run a scenario yet." if lacking else "This machine can run scenarios.")
        raise typer.Exit(Exit.CANNOT_RUN if lacking else Exit.PASS)
