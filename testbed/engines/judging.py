"""Judges a run's data: verdict, derived series, tables and report."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from testbed.documents import write_json
from testbed.errors import TestbedError, Unsupported
from testbed.judge import expected_failures
from testbed.judge.checks.derived import broken_lines, derived_lines, history_lines, law_ahead, marks, write_windows_csv
from testbed.judge.checks.evidence import agent_results
from testbed.judge.checks.result import CheckResult, Trust, Verdict
from testbed.judge.judge import judge
from testbed.judge.status import Status
from testbed.judge.trust.machine import lateness_lines
from testbed.judge.verify import read_verdict
from testbed.message import Message
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.plan.traffic_types import traffic_of
from testbed.series import FromFile, Reader, influxql
from testbed.series.one_clock import RETENTION, shifted
from testbed.series.reader import end_of, start_of
from testbed.series.tables import EVENTS, RUNS
from testbed.services.influx import retention, run_list
from testbed.services.influx.client import Client, QueryFailed
from testbed.services.influx.endpoint import Endpoint
from testbed.services.influx.reader import FromInflux


@dataclass(frozen=True)
class Judged:
    """A verdict, and the lines that dashboards read of it: derived series, the points aligned to the transfer's start,
    and the history; and the transfer's span (Unix nanoseconds; no start where nothing was ever sent)."""

    verdict: Verdict
    derived: list[str]
    aligned: list[str]
    history: list[str]
    start_ns: int | None
    end_ns: int


def judge_and_report(
    plan: Plan, folder: Path, endpoint: Endpoint, trust: Trust, file_points: int, database_points: int | None
) -> Verdict:
    """Judge from the database, write ``verdict.json``, ``derived.lp``, tables, plots and report."""
    with Client(endpoint, "reader") as client:
        judged = judge_from(plan, folder, FromInflux(client, plan["run"]), trust, file_points, database_points)
    with Client(endpoint, "admin") as writer:
        store_judged(writer, plan, judged)
    leave_report(folder)
    return judged.verdict


def judge_from(
    plan: Plan, folder: Path, reader: Reader, trust: Trust, file_points: int, database_points: int | None
) -> Judged:
    """Judge the series of ``reader``, write ``verdict.json``, ``derived.lp``, ``history.lp`` and tables into the
    folder."""
    verdict = judge(
        plan,
        reader,
        folder / "agents",
        trust,
        file_points=file_points,
        database_points=database_points,
        expected=expected_failures.read().of_run(plan["scenario"], engine_of(plan).name, plan["variant"]),
    )
    write_json(folder / "verdict.json", verdict.to_json())
    derived = derived_lines(plan, reader, verdict)
    (folder / "derived.lp").write_text(derived)
    if traffic_of(plan).windows:
        write_windows_csv(reader, [session["name"] for session in plan["sessions"]], folder / "windows.csv")
    events = reader.events()
    now_ns = time.time_ns()
    start_ns, end_ns = start_of(events), end_of(events) or now_ns
    history = _history(plan, folder, verdict, end_ns)
    late = lateness_lines(plan, folder / "relay.json", end_ns)
    aligned = _aligned(plan, folder, verdict, start_ns) if start_ns is not None else []
    return Judged(verdict, derived.splitlines() + late, aligned, history, start_ns, end_ns)


def store_judged(writer: Client, plan: Plan, judged: Judged, enter_in: Path | None = None) -> None:
    """Write the points of a verdict that dashboards read; the client's role is ``admin``. ``enter_in`` is the folder of
    a run that is not in the list yet: it comes there with all its points and its verdict, and never seems to be on."""
    writer.write(judged.derived)
    writer.write(judged.aligned, RETENTION)
    writer.write(judged.history, retention.HISTORY)
    if enter_in is not None:
        run_list.begin(writer, plan, enter_in, time.time_ns(), judged.verdict.verdict)
    run_list.finish(writer, plan, judged.verdict.verdict, judged.start_ns, judged.end_ns, judged.verdict.summary)


def _aligned(plan: Plan, folder: Path, verdict: Verdict, start_ns: int) -> list[str]:
    """All of the run's telemetry and the judge's marks, aligned to the transfer's start."""
    with (folder / "telemetry.lp").open(encoding="utf-8") as telemetry:
        lines = [line.rstrip("\n") for line in telemetry]
    return list(shifted([*lines, *marks(plan, verdict, start_ns)], start_ns))


def restore_aligned(writer: Client) -> int:
    """Write the aligned points of listed runs that have none any more, as earlier versions kept those of the latest
    runs only, from their result folders; returns the number of runs. The client's role is ``admin``."""
    restored, present = 0, writer.query(f'{influxql.select_table(EVENTS)} GROUP BY "run" LIMIT 1')
    has = {part.tags["run"] for part in present}
    for part in writer.query(f'SELECT "run_id", "folder" FROM {influxql.source(RUNS)} WHERE "scenario" != \'\''):
        for run, folder in zip(part.columns["run_id"], map(Path, part.columns["folder"]), strict=True):
            if run in has or not (folder / "verdict.json").is_file():
                continue
            with suppress(TestbedError, OSError):  # of a folder that somebody changed
                plan, verdict = read_plan(folder / "plan.json"), read_verdict(folder)
                start_ns = start_of(FromFile(folder / "telemetry.lp").events())
                if plan["run"] == run and start_ns is not None:
                    writer.write([*law_ahead(plan), *_aligned(plan, folder, verdict, start_ns)], RETENTION)
                    restored += 1
    return restored


def write_broken(
    plan: Plan,
    folder: Path,
    endpoint: Endpoint | None,
    error: Exception,
    untrusted: Sequence[Message],
    *,
    report: bool = True,
) -> None:
    """Write verdict and report of a run that broke down: nothing was judged, and why.

    ``untrusted`` are the reasons that its links can't be trusted, if they broke it. Without ``report``
    nothing is drawn. The verdict goes to the database as well, if there is one and it takes it.
    """
    known = error if isinstance(error, TestbedError) else None
    message = known.message if known else f"{type(error).__name__}: {error}"
    said = Message("check.not-judged", f"Not judged: {message}")
    checks = [CheckResult.of(check["name"], check["judge"], Status.ERROR, said) for check in plan["checks"]]
    verdict = Verdict(
        scenario=plan["scenario"],
        run=plan["run"],
        verdict=Status.UNTRUSTED if untrusted else Status.FAIL,
        summary=f"The run broke down: {message}",
        checks=checks,
        trust=Trust.of(untrusted),
        duration_s=None,
        policy=plan["sessions"][0]["policy"],
        broken=message,
        broken_code=known.code if known else None,
        unsupported=isinstance(error, Unsupported),
    )
    write_json(folder / "verdict.json", verdict.to_json())
    if report:
        leave_report(folder)
    now_ns = time.time_ns()
    history = _history(plan, folder, verdict, now_ns)
    if endpoint is not None:
        with suppress(QueryFailed), Client(endpoint, "admin") as writer:
            writer.write(broken_lines(plan, verdict, now_ns).splitlines())
            writer.write(history, retention.HISTORY)
            run_list.finish(writer, plan, Status.ERROR, None, now_ns, verdict.summary)


def leave_report(folder: Path, reader: FromFile | None = None) -> None:
    """Write a run's plots and page; ``reader`` is that of its telemetry, where that was read already."""
    from testbed.results.report.render import write_report

    write_report(folder, reader)


def load_report() -> None:
    """Load the modules of reports: Matplotlib takes most of a second, in which a run waits for other programs."""
    import_module("testbed.results.report.render")


def _history(plan: Plan, folder: Path, verdict: Verdict, end_ns: int) -> list[str]:
    """The lines that later runs of the scenario are compared with; written into the folder as well."""
    lines = history_lines(plan, verdict, agent_results(folder / "agents"), end_ns)
    (folder / "history.lp").write_text(lines)
    return lines.splitlines()
