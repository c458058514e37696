"""Derives all data of a run from its raw data again, and compares them with its result folder."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from testbed.archive import page, provenance_check
from testbed.documents import read_json
from testbed.engines import provenance
from testbed.engines.mininet import calibration, timeline
from testbed.errors import BadInput, RunFailed
from testbed.judge.checks.derived import derived_lines, history_lines, write_windows_csv
from testbed.judge.checks.evidence import agent_results
from testbed.judge.checks.result import Trust, Verdict
from testbed.judge.trust import of_measurements, underlay
from testbed.judge.trust.machine import HOST_LOAD, read_spans
from testbed.judge.verify import differences, read_verdict, text_differences, unlisted, verify
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.plan.traffic_types import traffic_of
from testbed.series import FromFile
from testbed.series.reader import end_of, start_of
from testbed.study.verify import Verification

OF_THE_CODE = ("derived.lp", "history.lp")
"""Files for dashboards, which change with them; the data behind these files are judged again anyway."""
COMPARE = "compare"
"""The trigger of a comparison's runs, which in virtual time have no report."""


def verify_run(folder: Path) -> Verification:
    """Plan, trust, verdict, tables, derived series, plots and page, from scenario, telemetry and results.

    Raises BadInput where what all else is made of is missing or broken.
    """
    return _MadeAgain(folder, read_plan(folder / "plan.json"), read_verdict(folder)).verified


class _MadeAgain:
    """One run's folder."""

    def __init__(self, folder: Path, plan: Plan, recorded: Verdict) -> None:
        self.folder, self.plan, self.recorded = folder, plan, recorded
        self.kernel = engine_of(plan).kernel
        """Whether its links are real ones, which were measured."""
        self.provenance = provenance_check.provenance_of(folder)
        self.complete = provenance_check.schema_of(self.provenance) >= provenance.SCHEMA
        """Whether it has to hold all that today's folders do."""
        self.verified = Verification(f"{recorded.scenario} {recorded.run}", recorded.verdict)
        reader = FromFile(folder / "telemetry.lp")
        self._origin()
        readings = self._readings()
        again = verify(folder, reader, self._trust(reader, readings))
        reported = again.to_json() if recorded.figures else again.to_json() | {"figures": {}}
        self.verified.differences.extend(differences("", recorded.to_json(), reported))
        self._expected()
        self._tables(reader, readings)
        self._lines(reader, again)
        is_paged = self.kernel or plan.get("occasion") != COMPARE
        page.check(folder, self.verified, self.provenance, needed=self.complete and is_paged)
        self.verified = replace(self.verified, verdict=again.verdict, checks=Verification.of(again).checks)

    def _origin(self) -> None:
        recorded = self.provenance
        if not recorded:
            self._lacks("provenance.json")
        if isinstance(recorded.get("run"), dict):
            should = provenance.of_plan(self.plan) | provenance.of_program(self.folder)
            self.verified.differences.extend(differences("provenance.json: run", recorded["run"], should))
        provenance_check.plan_again(self.folder, self.plan, self.verified)
        as_recorded = cast(Plan, read_json(self.folder / "plan.json"))
        provenance_check.check_commit(self.folder, as_recorded, recorded, self.verified)

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
        if readings is not None:
            off = calibration.off_limits(list(readings), self.plan["limits"])
            self.verified.differences.extend(reason.at(calibration.PROBE) for reason in off)
        relay, host_load = self.folder / "relay.json", self.folder / HOST_LOAD
        qdiscs, is_relayed = self._facts("qdiscs_after"), self.plan["middle"] == "relay"
        needed = [relay, host_load] if is_relayed else [host_load]
        lacking = [path.name for path in needed if not path.is_file()]
        if qdiscs is None:
            lacking.append("provenance.json: qdiscs_after")
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
            said = read_json(relay) if is_relayed else None
            step_s = float(self._facts("clock_step_s") or 0.0)
            links = self.folder / "links.csv" if self.complete else None
            return of_measurements(
                self.plan,
                links=links,
                relay=said,
                qdiscs=qdiscs,
                host_load=spans,
                clock_step_s=step_s,
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

    def _tables(self, reader: FromFile, readings: list[calibration.LinkReading] | None) -> None:
        sessions = [session["name"] for session in self.plan["sessions"]]
        if traffic_of(self.plan).windows:
            self._file("windows.csv", lambda path: write_windows_csv(reader, sessions, path))
        if readings is not None:
            self._file("links.csv", lambda path: calibration.write_csv(readings, path))
        self._file("events.csv", lambda path: timeline.write_csv(self.folder / "telemetry.lp", path))

    def _lines(self, reader: FromFile, again: Verdict) -> None:
        events = reader.events()
        start, end = start_of(events), end_of(events)
        self._file("derived.lp", lambda path: path.write_text(derived_lines(self.plan, reader, again), "utf-8"))
        if start is None or end is None:
            self.verified.unchecked.add_message("history.no-end", "history.lp: the telemetry has no end of the run")
            return
        results = agent_results(self.folder / "agents")
        self._file(
            "history.lp", lambda path: path.write_text(history_lines(self.plan, again, results, start, end), "utf-8")
        )

    def _file(self, name: str, write: Callable[[Path], object]) -> None:
        """Compares a rederived file."""
        if not (self.folder / name).is_file():
            self._lacks(name)
            return
        with tempfile.TemporaryDirectory(prefix="ncp-verify-") as place:
            made = Path(place, name)
            write(made)
            there, again = (read_text(path) for path in (self.folder / name, made))
        reported = list(text_differences(name, there, again))
        if name in OF_THE_CODE:
            provenance_check.compare_words(name, reported, self.provenance, self.verified)
        else:
            self.verified.differences.extend(reported)


def read_text(path: Path) -> str:
    """A file's text; BadInput where it is none."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput("result.not-text", f"{path}: can't be read as text: {error}") from error
