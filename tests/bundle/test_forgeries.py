"""Every forgery of a finished result is found and named in its folder, and some in a bundle whose checksums were made
to fit."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.archive.pack import pack
from testbed.archive.signature import MANIFEST
from testbed.archive.verify import unpacked, verify_bundle
from testbed.engines.emulation import timeline
from testbed.engines.judging import judge_from
from testbed.errors import BadInput
from testbed.judge.checks.result import Trust
from testbed.plan.read import read_plan
from testbed.results.report.render import write_report
from testbed.series import FromFile
from tests.bundle import made
from tests.bundle.made import verify_folder
from tests.said import places

Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By engine, and what is in a bundle of each."""
    found = {
        "sim": made.simulated(tmp_path_factory.mktemp("sim")),
        "mininet": made.emulated(tmp_path_factory.mktemp("mininet")),
    }
    for engine, folder in list(found.items()):
        place = found[f"{engine} bundle"] = tmp_path_factory.mktemp(f"{engine}-bundle")
        pack([folder], place.with_suffix(".zip"))
        with zipfile.ZipFile(place.with_suffix(".zip")) as archive:
            archive.extractall(place)
    return found


@dataclass(frozen=True)
class Forgery:
    """``where`` and ``code``: of the difference that has to be named; its place begins so."""

    name: str
    change: Change
    where: str
    engine: str = "sim"
    code: str = "difference.value"


def of_json(file: str, *keys: str | int, to: Any) -> Change:
    """Another value in a JSON file."""

    def change(folder: Path) -> None:
        path = folder / file
        document = place = json.loads(path.read_text())
        for key in keys[:-1]:
            place = place[key]
        before = place[keys[-1]]
        place[keys[-1]] = to(before) if callable(to) else to
        assert place[keys[-1]] != before
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")

    return change


def of_text(file: str, pattern: str, to: str) -> Change:
    """Another text in a file, once."""

    def change(folder: Path) -> None:
        path = folder / file
        text, count = re.subn(pattern, to, path.read_text(), count=1)
        assert count == 1
        path.write_text(text)

    return change


def without(file: str) -> Change:
    def change(folder: Path) -> None:
        (folder / file).unlink()

    return change


def drawn_again(change: Change) -> Change:
    """And the page made to fit, as ``report`` would."""

    def both(folder: Path) -> None:
        change(folder)
        write_report(folder)

    return both


def starved(folder: Path) -> None:
    """A run that was not to be trusted, told as one that is."""
    path = folder / "host_load.csv"
    path.write_text("seconds,idle\n" + "1.0,0.0\n" * 20)
    telemetry = folder / "telemetry.lp"
    telemetry.write_text(re.sub(r"cpu=[0-9.]+", "cpu=1.0", telemetry.read_text()))


def other_commit(folder: Path) -> None:
    """A commit whose sources of the simulator are not those that made the run, in a checkout beside the folder."""
    checkout = folder.parent / "checkout"
    run = partial(subprocess.run, check=True, capture_output=True, text=True)
    safe = ("git", "-c", f"safe.directory={paths.CHECKOUT / '.git'}")
    run([*safe, "clone", "--quiet", "--shared", str(paths.CHECKOUT), str(checkout)])
    with (checkout / "ncp-agent" / "policy" / "nkp24.go").open("a") as file:
        file.write("// Other sources.\n")
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    run(["git", *who, "commit", "--quiet", "--all", "--message", "Other sources"], cwd=checkout)
    commit = run(["git", "rev-parse", "HEAD"], cwd=checkout).stdout.strip()
    path = folder / "provenance.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "commit": commit, "uncommitted_changes": False}, indent=1))


def older(folder: Path) -> None:
    """A folder that pretends to be from before folders had to be whole, and lacks what could convict it."""
    without("probe.json")(folder)
    of_json("provenance.json", "schema", to=1)(folder)


def without_samples(measurement: str, from_share: float = 0.5) -> Change:
    """A sampler that died: of the telemetry's time the rest has none, in host_load.csv neither."""

    def change(folder: Path) -> None:
        file = folder / "telemetry.lp"
        lines = file.read_text().splitlines()
        times_ns = sorted(int(line.rsplit(" ", 1)[1]) for line in lines)
        died_ns = times_ns[0] + from_share * (times_ns[-1] - times_ns[0])
        kept = [line for line in lines if not line.startswith(measurement) or int(line.rsplit(" ", 1)[1]) < died_ns]
        assert len(kept) < len(lines)
        file.write_text("".join(f"{line}\n" for line in kept))
        rows = (folder / "host_load.csv").read_text().splitlines()[: 1 + sum(line.startswith("host,") for line in kept)]
        (folder / "host_load.csv").write_text("".join(f"{row}\n" for row in rows))

    return change


def later(seconds: float, *, telemetry: bool) -> Change:
    """Results, and perhaps telemetry, of another time than the run."""

    def change(folder: Path) -> None:
        if telemetry:
            file, by_ns = folder / "telemetry.lp", round(seconds * 1e9)
            lines = (line.rsplit(" ", 1) for line in file.read_text().splitlines())
            file.write_text("".join(f"{point} {int(at_ns) + by_ns}\n" for point, at_ns in lines))
        for path in (folder / "agents").glob("*.json"):
            for key in ("started_unix_ns", "finished_unix_ns"):
                of_json(f"agents/{path.name}", key, to=lambda at_ns: at_ns + round(seconds * 1e9))(folder)

    return change


def told_as_trusted(change: Change) -> Change:
    """And all that follows from it made again, by a rule of trust that asks for nothing of it."""

    def both(folder: Path) -> None:
        change(folder)
        plan, reader = read_plan(folder / "plan.json"), FromFile(folder / "telemetry.lp")
        timeline.write_csv(folder / "telemetry.lp", folder / "events.csv")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("testbed.judge.judge.of_run", lambda trust, _: trust)
            points = reader.count_points()
            verdict = judge_from(plan, folder, reader, Trust(trusted=True), points, points).verdict
        assert verdict.verdict == "pass"
        write_report(folder)

    return both


LACKING = {
    "relay.json without links": of_json("relay.json", "links", to=[]),
    "relay.json with a link one way": of_json("relay.json", "links", to=lambda links: links[1:]),
    "relay.json with a link twice": of_json("relay.json", "links", to=lambda links: [*links, links[0]]),
    "relay.json without frames": of_json("relay.json", "links", 0, "frames", to=0),
    "host_load.csv without rows": without_samples("host,", 0.0),
    "host load up to the middle": without_samples("host,"),
    "host load in one sample": lambda folder: (folder / "host_load.csv").write_text("seconds,idle\n9.9,0.8\n"),
    "no queues after the run": of_json("provenance.json", "qdiscs_after", to=[]),
    "a queue less after the run": of_json("provenance.json", "qdiscs_after", to=lambda queues: queues[1:]),
    "a queue without counters": of_json("provenance.json", "qdiscs_after", 0, "drops", to=None),
    "link samples up to the middle": without_samples("link,"),
    "no link samples of one direction": without_samples("link,direction=ba", 0.0),
    "interface counters up to the middle": without_samples("interface,"),
    "socket samples up to the middle": without_samples("socket_queue,"),
    "collectors that report once": without_samples("collector,", 0.25),
    "an agent's samples up to the middle": without_samples("ncp_connection,connection=1,policy=nkp24,role=sender"),
    "clocks of another year": later(365 * 86400, telemetry=True),
    "clocks of two hours before": later(-7200, telemetry=True),
    "results of another time": later(-0.3, telemetry=False),
    "traces that are not there": of_text("plan.json", r"\{", '{"traces": {"qlog": true, "pcap": ["fast"]},'),
    "no end of the transfer": of_text("telemetry.lp", r"event,kind=transfer_end.*\n", ""),
}
"""Evidence of a run that passed, and what is taken from it."""

LINE = "difference.line"
FORGERIES = (
    Forgery("trust flipped", of_json("verdict.json", "trust", "trusted", to=False), "trust.trusted"),
    Forgery("trust flipped back", of_json("verdict.json", "trust", "trusted", to=False), "trust.trusted", "mininet"),
    Forgery("a starved machine trusted", starved, "trust.trusted", "mininet"),
    Forgery(
        "frames that the relay lost trusted",
        of_json("relay.json", "links", 0, "unasked_drops", "queue", to=7),
        "trust.trusted",
        "mininet",
    ),
    Forgery(
        "a queue that dropped trusted",
        of_json("provenance.json", "qdiscs_after", 0, "drops", to=7),
        "trust.trusted",
        "mininet",
    ),
    Forgery(
        "a clock that was set trusted",
        of_text("provenance.json", r'"qdiscs_after"', '"clock_step_s": 3600.0, "qdiscs_after"'),
        "trust.trusted",
        "mininet",
    ),
    Forgery(
        "host samples",
        of_text("host_load.csv", r"0\.8", "0.9"),
        "host_load.csv",
        "mininet",
        "host-load.not-the-telemetry-s",
    ),
    Forgery(
        "a link that was off",
        of_json("probe.json", "links", 0, "delay_ms", to=lambda ms: ms + 9),
        "probe.json",
        "mininet",
        "calibration.delay-off",
    ),
    Forgery("a limit", of_json("plan.json", "limits", "lateness_p99_ms", to=99.0), "plan.json.limits."),
    Forgery("a check's bound", drawn_again(of_json("plan.json", "checks", 0, "max", to=99.0)), "plan.json.checks"),
    Forgery("a link's delay", of_json("plan.json", "links", 0, "delay_ms", to=41.0), "plan.json.links[fast]"),
    Forgery(
        "a policy's own words",
        of_json("plan.json", "sessions", 0, "policy_facts", "rule", to="none"),
        "plan.json.sessions[s1].policy_facts",
    ),
    Forgery("an override", of_json("plan.json", "overrides", to=["links.fast.delay=50ms"]), "plan.json"),
    Forgery("the scenario", of_text("scenario.yaml", "4MiB", "5MiB"), "plan.json.sessions[s1].transfer_bytes"),
    Forgery("windows.csv", of_text("windows.csv", r",1,\d", ",1,9"), "windows.csv", "sim", LINE),
    Forgery("a row less in windows.csv", of_text("windows.csv", r"(?m)^\d\.\d+,1.*\n", ""), "windows.csv", "sim", LINE),
    Forgery("links.csv", of_text("links.csv", r"fast,ab,\d", "fast,ab,9"), "links.csv", "mininet", LINE),
    Forgery(
        "links.csv and its page",
        drawn_again(of_text("links.csv", r"fast,ab,\d", "fast,ab,9")),
        "links.csv",
        "mininet",
        LINE,
    ),
    Forgery("events.csv", of_text("events.csv", r"1\.0", "1.5"), "events.csv", "sim", LINE),
    Forgery("an event less", of_text("events.csv", r"(?m)^1\.0.*\n", ""), "events.csv", "sim", LINE),
    Forgery("derived.lp", of_text("derived.lp", 'verdict="[a-z]+"', 'verdict="untrusted"'), "derived.lp", "sim", LINE),
    Forgery("history.lp", of_text("history.lp", r"passed=\d", "passed=9"), "history.lp", "sim", LINE),
    Forgery("a plot", of_text("plots/rtt.svg", "path", "poth"), "plots/rtt.svg", "sim", "plot.differs"),
    Forgery("a plot's points", of_text("plots/rtt.csv", ",1", ",2"), "plots/rtt.csv", "sim", "plot.differs"),
    Forgery("a plot's points less", without("plots/rtt.csv"), "plots/rtt.csv", "sim", "plot.differs"),
    Forgery("a plot less", without("plots/rtt.svg"), "plots/rtt.svg", "sim", "plot.differs"),
    Forgery("the page", of_text("report.html", "Two links, one", "Two links, none"), "report.html", "sim", LINE),
    Forgery(
        "a reason and its page",
        drawn_again(of_json("verdict.json", "checks", 0, "reason", to="Fine.")),
        "checks[final window ratio].reason",
    ),
    Forgery(
        "a reason's code", of_json("verdict.json", "checks", 0, "code", to="x.y"), "checks[final window ratio].code"
    ),
    Forgery("the commit", other_commit, "", "sim", "commit.other-name"),
    Forgery("the run's facts", of_json("provenance.json", "run", "seed", to=9), "provenance.json: run.seed"),
    Forgery("an older schema", older, "probe.json", "mininet", "file.not-there"),
    *(
        Forgery(f"without {file}", without(file), file, engine, "file.not-there")
        for file, engine in (
            ("windows.csv", "sim"),
            ("events.csv", "sim"),
            ("derived.lp", "sim"),
            ("history.lp", "sim"),
            ("report.html", "sim"),
            ("links.csv", "mininet"),
            ("probe.json", "mininet"),
            ("relay.json", "mininet"),
            ("host_load.csv", "mininet"),
        )
    ),
)


FORGERIES += tuple(
    Forgery(name, told_as_trusted(change), "trust.trusted", "mininet") for name, change in LACKING.items()
)


def forged(folder: Path, to: Path, forgery: Forgery) -> Path:
    copy = to / folder.name
    shutil.copytree(folder, copy)
    forgery.change(copy)
    return copy


@pytest.mark.parametrize("engine", ["sim", "mininet"])
def test_an_honest_folder_is_confirmed(folders: dict[str, Path], engine: str) -> None:
    verified = verify_folder(folders[engine])
    assert verified.differences == []
    assert verified.verdict == "pass"
    assert [said.code.partition(".")[0] for said in verified.unchecked] in (["commit"], [])


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_a_forged_folder_is_not_confirmed(
    folders: dict[str, Path], tmp_path: Path, forgery: Forgery, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = forged(folders[forgery.engine], tmp_path, forgery)
    if (checkout := tmp_path / "checkout").is_dir():
        monkeypatch.setattr(paths, "CHECKOUT", checkout)
    found = verify_folder(folder).differences
    assert any(place.startswith(forgery.where) for place in places(found, forgery.code)), found


IN_BUNDLES = {
    "a starved machine trusted",
    "the scenario",
    "windows.csv",
    "a plot",
    "a reason and its page",
    "without probe.json",
}
"""One of each way to forge: a bundle's folder is verified as any other, so what is its own is only the list of
checksums, which is written again in the same way."""


def test_those_in_bundles_are_among_all() -> None:
    assert {forgery.name for forgery in FORGERIES} > IN_BUNDLES


@pytest.mark.parametrize("forgery", [f for f in FORGERIES if f.name in IN_BUNDLES], ids=lambda forgery: forgery.name)
def test_a_forged_bundle_is_not_confirmed(folders: dict[str, Path], tmp_path: Path, forgery: Forgery) -> None:
    """Its list of checksums is written again."""
    place, file = tmp_path / "in", tmp_path / "forged.zip"
    shutil.copytree(folders[f"{forgery.engine} bundle"], place)
    (run,) = (plan.parent for plan in place.rglob("plan.json"))
    forgery.change(run)
    paths = [path for path in sorted(place.rglob("*")) if path.is_file() and path.name != MANIFEST]
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(place).as_posix()}\n" for path in paths
    ]
    (place / MANIFEST).write_text("".join(lines))
    with zipfile.ZipFile(file, "w") as archive:
        for path in [*paths, place / MANIFEST]:
            archive.write(path, path.relative_to(place).as_posix())
    with unpacked(file) as there:
        found = [said for verified in verify_bundle(there) for said in verified.differences]
    assert any(place.startswith(forgery.where) for place in places(found, forgery.code)), found


@pytest.mark.parametrize("file", ["plan.json", "telemetry.lp", "verdict.json"])
def test_a_folder_without_what_all_is_made_of_is_refused(folders: dict[str, Path], tmp_path: Path, file: str) -> None:
    with pytest.raises(BadInput):
        verify_folder(forged(folders["sim"], tmp_path, Forgery("", without(file), "")))
