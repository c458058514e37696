"""Verifies a run: derives all data from its raw data again, and compares them with its result folder. In virtual time
it is also repeated from its plan with this checkout's programs: every byte must be the same, whoever made it."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from testbed import engines
from testbed.archive import origin, page, provenance_check
from testbed.documents import read_json
from testbed.engines import provenance
from testbed.engines.emulation import calibration, timeline
from testbed.engines.engine import Engine, Programs
from testbed.engines.run import Run
from testbed.errors import BadInput, CannotRun, RunFailed, TestbedError
from testbed.judge.checks.derived import derived_lines, history_lines, write_windows_csv
from testbed.judge.checks.evidence import agent_results
from testbed.judge.checks.result import Trust, Verdict
from testbed.judge.history import here, provenance_of
from testbed.judge.trust import underlay
from testbed.judge.trust.machine import HOST_LOAD, read_spans
from testbed.judge.trust.reasons import of_measurements
from testbed.judge.verify import differences, read_verdict, recorded_database_points, text_differences, unlisted, verify
from testbed.message import Message
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.plan.traffic_types import traffic_of
from testbed.planning.program import not_built
from testbed.runtime.progress import Progress, QuietProgress
from testbed.series import FromFile
from testbed.series.reader import end_of, start_of
from testbed.study.kinds.same_bytes import Repetition, digests, judge
from testbed.study.verify import Verification

PLAN = "plan.json"
OF_THE_CODE = ("derived.lp", "history.lp")
"""Files for dashboards, which change with them; the data behind these files are judged again anyway."""
FILES = ("windows.csv", "links.csv", "events.csv", *OF_THE_CODE)
"""Files that follow from telemetry and readings, each where a run of its kind has it."""
COMPARE = "compare"
"""The trigger of a comparison's runs, which in virtual time have no report."""


def prepare(runs: Sequence[Path], progress: Progress) -> None:
    """Build what repeated runs need, once; raises :class:`CannotRun` where this machine can't make them."""
    for facts in dict.fromkeys(engine_of(read_plan(run / PLAN)) for run in runs):
        if facts.virtual_time:
            engines.named(facts.name).prepare(progress)


def verify_run(folder: Path, *, rerun: bool) -> Verification:
    """Plan, trust, verdict, tables, derived series, plots and page, from scenario, telemetry and results; with
    ``rerun``, a run in virtual time is repeated as well.

    Raises BadInput where what all else is made of is missing or broken.
    """
    again = _MadeAgain(folder, read_plan(folder / PLAN), read_verdict(folder))
    if rerun:
        _rerun(again)
    return again.verified


class _MadeAgain:
    """One run's folder."""

    def __init__(self, folder: Path, plan: Plan, recorded: Verdict) -> None:
        self.folder, self.plan, self.recorded = folder, plan, recorded
        self.kernel = engine_of(plan).kernel
        """Whether its links are real ones, which were measured."""
        self.provenance = provenance_of(folder)
        self.complete = provenance_check.schema_of(self.provenance) >= provenance.SCHEMA
        """Whether it has to hold all that today's folders do."""
        self.verified = Verification(f"{recorded.scenario} {recorded.run}", recorded.verdict)
        reader = FromFile(folder / "telemetry.lp")
        self._origin()
        readings = self._readings()
        again = verify(folder, reader, self._trust(reader, readings), complete=self.complete)
        reported = again.to_json() if recorded.figures else again.to_json() | {"figures": {}}
        self.verified.differences.extend(differences("", recorded.to_json(), reported))
        self._expected()
        self._files(reader, readings, again)
        is_paged = self.kernel or plan.get("occasion") != COMPARE
        page.check(folder, self.verified, self.provenance, needed=self.complete and is_paged)
        self.verified = replace(self.verified, verdict=again.verdict, checks=Verification.of(again).checks)

    def _origin(self) -> None:
        recorded = self.provenance
        if not recorded:
            self._lacks("provenance.json")
        if self.complete or "run" in recorded:
            should = provenance.of_plan(self.plan) | provenance.of_program(self.folder)
            self.verified.differences.extend(differences("provenance.json: run", recorded.get("run"), should))
        self.made = provenance_check.plan_again(self.folder, self.plan, self.verified)
        provenance_check.check_commit(self.folder, cast(Plan, read_json(self.folder / PLAN)), recorded, self.verified)
        origin.check_scenario(self.folder, self.plan, recorded, self.verified)

    def _expected(self) -> None:
        """Expected failures: of this code as this checkout lists them, of other code they can't be checked."""
        plan, here = self.plan, provenance_check.of_this_code(self.provenance)
        found = unlisted(plan["scenario"], engine_of(plan).name, plan.get("variant", "full"), self.recorded)
        (self.verified.differences if here else self.verified.unchecked).extend(found)

    def _lacks(self, what: str) -> None:
        """A file that is not there: a difference, but where folders of its time had none."""
        if self.complete:
            self.verified.differences.add_message("file.not-there", f"{what}: is not there")
        else:
            self.verified.unchecked.add_message("file.not-of-its-time", f"{what}: folders of its time need not have it")

    def _facts(self, name: str) -> Any:
        """The runner's measurements, on this machine or in the guest."""
        return self.provenance.get(name, self.provenance.get("guest", {}).get(name))

    def _readings(self) -> list[calibration.LinkReading] | None:
        """The links as the probe measured them; None in the simulator, and where they are not known."""
        if not self.kernel:
            return None
        probe = self.folder / calibration.PROBE
        try:
            if probe.is_file():
                return calibration.readings_of(self.plan, read_json(probe))
            if not self.complete and self._facts("calibration"):
                return [calibration.LinkReading(**reading) for reading in self._facts("calibration")]
        except (RunFailed, KeyError, TypeError) as error:
            raise BadInput("verify.probe-broken", f"{probe}: is not what the probe says: {error}") from error
        self._lacks(calibration.PROBE)
        return None

    def _trust(self, reader: FromFile, readings: Sequence[calibration.LinkReading] | None) -> Trust:
        """Trust by links, relay, qdiscs and host; as recorded where the folder is too old to have them."""
        if not self.kernel:
            return Trust(trusted=True)  # nothing can be late where there is no clock
        if not engine_of(self.plan).virtual_time:
            self.verified.notes.add_message(
                "rerun.real-packets",
                "real packets are never the same twice, so no re-run shows who made the telemetry: it was held against "
                "the links' measurements, relay counters, host load and itself; the rest is a matter of signatures "
                "(bundle --sign)",
            )
        if readings is not None:
            off = calibration.off_limits(list(readings), self.plan["limits"])
            self.verified.differences.extend(reason.at(calibration.PROBE) for reason in off)
        relay, host_load = self.folder / "relay.json", self.folder / HOST_LOAD
        qdiscs, is_relayed = self._facts("qdiscs_after"), self.plan["middle"] == "relay"
        needed = {path.name: path.is_file() for path in ([relay, host_load] if is_relayed else [host_load])}
        needed["provenance.json: qdiscs_after"] = qdiscs is not None
        lacking = [what for what, is_there in needed.items() if not is_there]
        for what in lacking:
            self._lacks(what)
        if lacking:
            if not self.complete:
                self.verified.unchecked.add_message(
                    "verify.trust-as-recorded", "verdict.json: trust: is as recorded, for want of what it is made of"
                )
            return self.recorded.trust
        try:
            spans = read_spans(host_load)
            self._same_host(reader, [idle for _, idle in spans])
            return of_measurements(
                self.plan,
                links=self.folder / "links.csv" if self.complete else None,
                relay=read_json(relay) if is_relayed else None,
                qdiscs=qdiscs,
                host_load=spans,
                clock_step_s=float(self._facts("clock_step_s") or 0.0),
                underlay_samples=self._underlay(),
                events=reader.events(),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(
                "verify.host-load-broken", f"{self.folder}: {HOST_LOAD} or relay.json is broken: {error}"
            ) from error

    def _underlay(self) -> list[underlay.Sample] | None:
        """Samples between machines, of a run with hosts on other machines."""
        file, elsewhere = self.folder / underlay.FILE, bool(self.plan.get("place"))
        if file.is_file() and not elsewhere:
            self.verified.differences.add_message(
                "underlay.not-of-this-plan", f"{file.name}: is there, and plan.json has no host on another machine"
            )
        elif elsewhere and not file.is_file():
            self._lacks(file.name)
        if not (elsewhere and file.is_file()):
            return None
        try:
            return underlay.read(file)
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput("verify.file-broken", f"{file}: is broken: {error}") from error

    def _same_host(self, reader: FromFile, idle: Sequence[float]) -> None:
        """The host's samples against those in the telemetry."""
        busy = [float(fields["cpu"]) for _, _, fields in reader.points().get("host", [])]
        if len(busy) != len(idle) or any(1.0 - a != b for a, b in zip(idle, busy, strict=True)):
            self.verified.differences.add_message(
                "host-load.not-the-telemetry-s",
                f"{HOST_LOAD}: is not what telemetry.lp has of {len(busy)} samples of the host",
            )

    def _files(self, reader: FromFile, readings: list[calibration.LinkReading] | None, again: Verdict) -> None:
        """Tables and lines, written anew and compared."""
        plan, events = self.plan, reader.events()
        start, end = start_of(events), end_of(events)
        with tempfile.TemporaryDirectory(prefix="ncp-verify-") as place:
            made = Path(place)
            if traffic_of(plan).windows:
                sessions = [session["name"] for session in plan["sessions"]]
                write_windows_csv(reader, sessions, made / "windows.csv")
            if readings is not None:
                calibration.write_csv(readings, made / "links.csv")
            timeline.write_csv(self.folder / "telemetry.lp", made / "events.csv")
            (made / "derived.lp").write_text(derived_lines(plan, reader, again), "utf-8")
            if start is None or end is None:
                self.verified.unchecked.add_message("history.no-end", "history.lp: the telemetry has no end of the run")
            else:
                results = agent_results(self.folder / "agents")
                (made / "history.lp").write_text(history_lines(plan, again, results, end), "utf-8")
            for path in (made / name for name in FILES if (made / name).is_file()):
                self._compare(path)

    def _compare(self, made: Path) -> None:
        """Compares a rederived file."""
        there = self.folder / made.name
        if not there.is_file():
            self._lacks(there.name)
            return
        reported = list(text_differences(there.name, read_text(there), read_text(made)))
        if there.name in OF_THE_CODE:
            provenance_check.compare_words(there.name, reported, self.provenance, self.verified)
        else:
            self.verified.differences.extend(reported)


def _rerun(run_again: _MadeAgain) -> None:
    """Repeat the run and compare."""
    plan, recorded, verified = run_again.plan, run_again.provenance, run_again.verified
    if not engine_of(plan).virtual_time:
        return  # no run is the same to the byte, which has been said
    if run_again.made is None:
        verified.unchecked.add_message("rerun.no-plan", "rerun: there is no plan to run")
        return
    again, loaded = run_again.made
    engine, quiet = engines.of(again), QuietProgress()
    try:
        programs = provenance_check.programs_of(run_again.folder, engine, plan)
        if not engine.deterministic():
            raise CannotRun("rerun.no-kernel", "the guest kernel is not built here (./run.sh doctor --build)")
        if missing := not_built(again):
            raise CannotRun("rerun.not-built", f"{missing}")
    except (TestbedError, OSError) as error:
        otherwise = Message("rerun.not-here", f"rerun: can't be run: {error}")
        provenance_check.can_not_build(error, otherwise, verified)
        return
    with tempfile.TemporaryDirectory(prefix="ncp-rerun-") as place:
        run = engine.run(again, loaded, programs, quiet, Path(place))
        try:
            run.without_database(recorded_database_points(run_again.recorded))
        except TestbedError as error:
            verified.differences.add_message("rerun.broke-down", f"rerun: the run broke down: {error.message}")
            return
        found = [digests(place) for place in (run_again.folder, run.folder)]
        other_schema = read_json(run_again.folder / PLAN)["schema"] != again["schema"]
        if other_schema or provenance_check.paths_of(plan) != provenance_check.paths_of(again):
            for digested in found:  # its fields have been compared
                del digested[PLAN]
        both = judge(run_again.folder.name, found, [], {})
    _tell(both, run, engine, recorded, verified)
    if not both.differing:
        _tell_commit(run.plan, engine, programs, recorded, verified)


def _tell(both: Repetition, run: Run, engine: Engine, recorded: dict[str, Any], verified: Verification) -> None:
    ours = provenance_check.told_of(here())
    before, after = both.runs
    verified.notes.extend(unlike.at("rerun") for unlike in engine.unlike(recorded))
    if not both.differing:
        verified.notes.add_message(
            "rerun.same-bytes",
            f"repeated by {ours}: all {len(both.runs[0])} files are the same bytes ({both.digest:.16})",
        )
        return
    if engine.facts.kernel and not recorded.get("engine", {}).get("repeatable"):
        verified.unchecked.add_message(
            "rerun.not-repeatable",
            f"rerun: {both.differing[0]} and {len(both.differing) - 1} more are not the same bytes, and need not be: "
            "its guest ran in real time, or a program in it span",
        )
        return
    for name in both.differing:
        if name not in before:
            verified.differences.add_message("rerun.not-there", f"rerun: {name}: is not there")
        elif name not in after:
            verified.differences.add_message("rerun.not-made", f"rerun: {name}: is not made")
        else:
            verified.differences.add_message("rerun.other-bytes", f"rerun: {name}: is not the same bytes")
    if not run.repeatable:
        verified.differences.add_message("rerun.program-span", "rerun: a program span: this run is not repeatable")
    if not provenance_check.made_here(recorded):
        verified.differences.add_message(
            "rerun.other-checkout",
            f"rerun: refused as a proof: the result was made by {provenance_check.told_of(recorded)}, this checkout "
            f"is {ours}; make it again in a checkout of that commit",
        )


def _tell_commit(
    plan: Plan, engine: Engine, programs: Programs, recorded: dict[str, Any], verified: Verification
) -> None:
    """A run's name changes with plan, sources and kernel: one that is ours was made by our sources."""
    verified.unchecked[:] = [one for one in verified.unchecked if not one.code.startswith("commit.")]
    name = provenance_check.name_by(programs, plan)
    by_name = not engine.facts.kernel  # a simulation's commit has been judged by the name that it gives
    of_commit = recorded.get("of_commit")  # which is the agent's alone
    if (
        name == plan["run"]
        and not (by_name or of_commit)
        and not provenance_check.may_be_ours(recorded, engine.sources)
    ):
        verified.differences.add_message(
            "commit.other-sources",
            f"commit: {provenance_check.told_of(recorded)} is recorded, and the run was made by this checkout's "
            "sources",
        )
    elif name != plan["run"]:
        verified.notes.add_message(
            "rerun.other-name",
            f"rerun: with this checkout and machine the run's name would be {name}: sources, Python or the guest "
            "kernel's build are not the same",
        )


def read_text(path: Path) -> str:
    """A file's text; BadInput where it is none."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput("result.not-text", f"{path}: can't be read as text: {error}") from error
