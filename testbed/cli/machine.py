"""Verbs about this machine: what it has, its database and Grafana, what killed runs left, and a shell in a guest."""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from testbed.cli.options import ScenarioArgument, SetOption
from testbed.errors import CannotRun, TestbedError
from testbed.exit_codes import Exit
from testbed.machine.finding import Finding
from testbed.runtime.progress import Progress


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Install what is missing.")] = False,
    build: Annotated[bool, typer.Option("--build", help="Also build the Go programs and the guest kernel.")] = False,
) -> None:
    """Check this machine, and say what is missing and how to fix it.

    Ends with 4 if a run would not work: as root on real packets, else in virtual time; or if --build can't
    build something.
    """
    from testbed import engines
    from testbed.machine.check import lacking, probe_all
    from testbed.machine.need import Need
    from testbed.machine.provisioning import make_ready
    from testbed.plan.engines import DEFAULT

    if fix:
        make_ready(Progress(), engines.named(DEFAULT).needs() | {Need.MPTCP})
    not_built = _build() if build else ""
    findings = probe_all()
    for finding in findings:
        _tell(finding)
    every = engines.every()
    lacks = {engine.name: lacking(findings, engine.needs()) for engine in every}
    for name, missing in lacks.items():
        print(f"{f'./run.sh SCENARIO --engine {name}':<36} {_answer(missing)}")
    if not_built:
        print(f"The guest kernel with virtual time was not built. {not_built}", file=sys.stderr)
    here = every[:1] if every[0].for_this_user() else every[1:]
    works = any(not lacks[engine.name] for engine in here)
    raise typer.Exit(Exit.PASS if works and not not_built else Exit.CANNOT_RUN)


def _answer(lacks: list[Finding]) -> str:
    from testbed.machine.provisioning import installable

    if not lacks:
        return "yes"
    word = "yes, once it has installed" if installable(lacks) else "no; missing:"
    return f"{word} {', '.join(finding.name for finding in lacks)}"


def _build() -> str:
    """Build the Go programs and the guest kernel, installing what builds them; tells what a kernel lacks that can't
    be built."""
    from testbed.engines import named
    from testbed.engines.vkernel.build import build as build_kernel
    from testbed.machine import guest_kernel
    from testbed.machine.build import build_programs
    from testbed.machine.provisioning import make_ready

    progress = Progress()
    make_ready(progress, "show")
    print(f"built {', '.join(str(path) for path in build_programs().values())}")
    if guest_kernel.built() is None:
        make_ready(progress, named("vkernel").needs())
        if lacks := guest_kernel.why_not_buildable():  # Debian's own kernel stands in
            return lacks
        build_kernel(progress)
    return ""


def _tell(finding: Finding) -> None:
    bad = {"required": "MISSING", "optional": "low"}.get(finding.level, "") if not finding.ok else ""
    print(f"  {'fact' if finding.level == 'fact' else bad or 'ok':<8} {finding.name:<19} {finding.detail}")
    if bad:
        print(f"  {'':<8} {'':<19} for: {finding.why}; fix: {finding.fix}")


def up() -> None:
    """Start InfluxDB (a run does so by itself), and Grafana if its image is available."""
    from testbed.engines.judging import restore_aligned
    from testbed.machine.provisioning import make_ready
    from testbed.services import compose
    from testbed.services.influx import server
    from testbed.services.influx.client import Client

    _need_root()
    make_ready(Progress(), "up")
    endpoint = server.ensure()
    print(f"InfluxDB at {endpoint.url}{server.started_elsewhere()}")
    with Client(endpoint, "admin") as admin:
        if restored := restore_aligned(admin):
            print(f"{restored} runs of earlier versions are in the dashboards again, from their result folders")
    try:
        print(f"Grafana at {compose.start(endpoint)}")
    except compose.NoService as error:
        print(f"no Grafana: {error.message}. Everything else works without it.")


def down() -> None:
    """Stop the testbed's InfluxDB and Grafana; their data stays."""
    from testbed.services import compose
    from testbed.services.influx import server

    _need_root()
    if compose.stop():
        print("Grafana stopped")
    by = server.started_elsewhere()
    print(f"InfluxDB stopped{by}" if server.stop() else "InfluxDB was not running")


def _need_root() -> None:
    if os.geteuid() != 0:
        raise CannotRun(
            "cli.database-needs-root",
            "the testbed's database runs under an account of its own, which needs root to start",
            "Use sudo.",
        )


def clean(
    hosts: Annotated[str, typer.Option(metavar="INVENTORY", help="On the machines of it.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")] = False,
) -> None:
    """Remove namespaces, containers, processes and folders of runs that were killed. Results are kept."""
    from testbed.runtime import leftovers, lock
    from testbed.services.influx import run_list, server
    from testbed.services.influx.client import Client

    on = lock.holder()
    if hosts and dry_run:
        raise typer.BadParameter("is of this machine alone, and does not go with --hosts", param_hint="--dry-run")
    if hosts:
        raise typer.Exit(_removed(*_on_machines(Path(hosts), on)))
    if os.geteuid() != 0:
        raise CannotRun("clean.needs-root", "removing namespaces needs root", "Try: sudo ./run.sh clean")
    found = leftovers.remove_leftovers(leftovers.docker_client, dry_run=dry_run)
    with suppress(TestbedError):  # without its database there is no list
        if endpoint := server.running():
            with Client(endpoint, "admin") as admin:
                end = run_list.killed if dry_run else run_list.tidy
                found.things.extend(
                    f"“on” of killed run {run} in the database"
                    for run in end(admin, (on or "").split(), time.time_ns())
                )
    if on is not None:
        print(f"{on} is running; it removes what it has made")
    nothing = "nothing" if on is None else "nothing else"
    raise typer.Exit(_removed(found.things, found.problems, nothing, "would remove" if dry_run else "removed"))


def _on_machines(file: Path, on: object) -> tuple[Sequence[str], Sequence[str]]:
    """Remove leftovers on other machines of runs that this machine led; returns them, and problems."""
    from testbed.machine import inventory
    from testbed.remote.machine import remove_leftovers

    machines = {
        name: variables for name, variables in inventory.read(file).hosts.items() if not inventory.here(variables)
    }
    if on is not None:
        raise CannotRun(
            "clean.run-in-progress", f"{on} is running; it removes what it has made", "Wait for it, or stop it."
        )
    return remove_leftovers(machines)


def _removed(things: Sequence[str], problems: Sequence[str], nothing: str = "nothing", removed: str = "removed") -> int:
    """Say what was removed and what could not be; returns the exit code."""
    for what in things:
        print(f"{removed} {what}")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if not things and not problems:
        print(f"{nothing} to remove")
    return Exit.FAIL if problems else Exit.PASS


def shell(
    scenario: ScenarioArgument,
    host: Annotated[str, typer.Argument(help="One of its hosts; usually the sender's.")] = "",
    set_: SetOption = [],  # noqa: B006
    command: Annotated[str, typer.Option("--command", "-c", help="Run this instead of an interactive shell.")] = "",
) -> None:
    """Open root's shell on a host behind a scenario's measured links, with this machine's files and programs.

    ./run.sh guest runs programs in a kernel of their own, without root.
    """
    raise typer.Exit(_shell_behind(scenario, host, set_, ["bash", "-c", command] if command else ["bash"]))


def _shell_behind(name: str, host: str, assignments: list[str], command: list[str]) -> int:
    from testbed.engines import named
    from testbed.engines.engine import Options
    from testbed.scenario.load import load

    engine, loaded, progress = named("mininet"), load(name, assignments), Progress()
    engine.refuse_user(loaded.scenario.name)
    engine.clear(progress.say)
    with tempfile.TemporaryDirectory(prefix="ncp-shell-") as place:
        run = engine.ready_run(loaded, Options(runtime="process"), progress, Path(place))
        return run.shell(host, command)
