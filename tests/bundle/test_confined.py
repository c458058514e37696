"""Results that somebody made to do harm: whatever they name, nothing of it is executed, and no other file is read,
written or removed.

What would be executed leaves a marker. Each test is of one way from a file of a result to code, or out of its folder.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from testbed import confine, paths
from testbed.cli.app import carry_out, main
from testbed.errors import BadInput, TestbedError
from testbed.judge.history import git
from testbed.study.kinds import sweep as sweep_run
from testbed.study.kinds import sweep_file as sweeps
from testbed.study.kinds import table as table_run
from testbed.study.kinds import table_file as tables
from testbed.study.ledger import begin
from testbed.study.own_scenario import own_file
from testbed.study.programs import COMMITS
from testbed.study.verify import Verification
from tests.bundle import made
from tests.bundle.made import verify_folder
from tests.plan.test_custom import DIAMOND, KEYS, SCENARIO
from tests.said import codes

TOPOLOGY = "topology: {file: diamond.py, class: Diamond}\n"
SWEEP = """\
name: tiny
title: Two windows
scenario: startup
seconds: 1s
parameters:
  ncp.send_window: [512KiB, 1MiB]
policies: [nkp24]
plots:
  - {figure: goodput_mib_s, x: ncp.send_window}
"""
TABLE = """\
name: tiny
title: One cell
repeat: 1
cells:
  topology: parallel
  links:
    - {name: one, rate: 1024pps, delay: 5ms}
  ncp: {policy: nkp24, transfer: 256KiB}
  checks:
    - {name: payload, judge: payload_intact}
rows:
  - {name: a}
columns:
  - {name: nkp24, set: {ncp.policy: nkp24}}
checks:
  - {name: fast, judge: within, columns: [nkp24], min: 0}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A result of each kind."""
    place = tmp_path_factory.mktemp("honest")
    found = {"run": made.simulated(place)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NCP_TESTBED_RESULTS", str(place / "results"))
        (place / "sweep.yaml").write_text(SWEEP)
        _, found["sweep"] = sweep_run.run(sweeps.load(str(place / "sweep.yaml")))
        (place / "table.yaml").write_text(TABLE)
        table_run.run(tables.load(str(place / "table.yaml")), table_run.TableRequest(engine="sim"))
        found["table"] = (place / "results" / "tiny" / "latest").resolve()
    return found


class Harm:
    """A folder outside of the results, with programs that would leave a marker."""

    def __init__(self, place: Path) -> None:
        self.place, self.marker = place / "outside", place / "executed"
        self.place.mkdir()
        self.put(self.place)

    def put(self, folder: Path) -> None:
        """The programs into a folder: a scenario, a topology with its scenario, and one that is sent."""
        touch = f"import pathlib\npathlib.Path({str(self.marker)!r}).touch()\n"
        (folder / "evil.py").write_text(f"{touch}def scenario():\n    return {{}}\n")
        topology = DIAMOND.replace("KEY_A", KEYS[0]).replace("KEY_B", KEYS[1])
        (folder / "diamond.py").write_text(touch + topology)
        (folder / "evil.yaml").write_text(SCENARIO)


@pytest.fixture
def harm(tmp_path: Path) -> Harm:
    return Harm(tmp_path)


@pytest.fixture
def of(results: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of an honest result."""

    def copy(kind: str) -> Path:
        place = tmp_path / "results" / kind / results[kind].name
        shutil.copytree(results[kind], place, symlinks=True)
        return place

    return copy


def said(folder: Path, *, rerun: bool = True) -> str:
    """What `verify` finds wrong; it has to find something."""
    try:
        found: Verification = verify_folder(folder, rerun=rerun)
    except TestbedError as error:
        return error.message
    told = "\n".join(map(str, [*found.differences, *found.unchecked]))
    assert told
    return told


def edit(file: Path, **changes: Any) -> None:
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, **changes}, indent=1))


@pytest.mark.parametrize("kind", ["run", "sweep", "table"])
def test_honest_ones_are_confirmed(results: dict[str, Path], kind: str) -> None:
    assert verify_folder(results[kind], rerun=True).differences == []


def link_to(target: str) -> Callable[[Path, Harm], str]:
    def make(folder: Path, harm: Harm) -> str:
        (folder / "linked").symlink_to(harm.place)
        return str(folder / "linked" / target)

    return make


def within(target: str) -> Callable[[Path, Harm], str]:
    def make(folder: Path, harm: Harm) -> str:
        harm.put(folder)
        return str(folder / target)

    return make


WAYS: dict[str, Callable[[Path, Harm], str]] = {
    "absolute": lambda _, harm: str(harm.place / "evil.py"),
    "absolute YAML with a topology": lambda _, harm: str(harm.place / "evil.yaml"),
    "upwards": lambda folder, harm: os.path.relpath(harm.place / "evil.py", folder),
    "upwards from here": lambda _, harm: os.path.relpath(harm.place / "evil.py"),
    "link": link_to("evil.py"),
    "link to YAML with a topology": link_to("evil.yaml"),
    "in the folder": within("evil.py"),
    "in the folder, YAML with a topology": within("evil.yaml"),
}


@pytest.mark.parametrize("before", [False, True], ids=["kept", "of before"])
@pytest.mark.parametrize("way", WAYS)
def test_the_scenario_of_a_sweep(of: Callable[[str], Path], harm: Harm, way: str, before: bool) -> None:
    folder = of("sweep")
    path = WAYS[way](folder, harm)
    file = folder / "sweep.yaml"
    file.write_text(file.read_text().replace("scenario: startup", f"scenario: {path}"))
    if before:
        (folder / "scenario.yaml").unlink(missing_ok=True)  # folders of before kept none
    if before or "link" in way:
        assert "is not in the folder" in (told := said(folder)) or "leads out of the result" in told
    else:
        verify_folder(folder, rerun=True)  # made again from what is kept, whatever the name says
    assert not harm.marker.exists()


@pytest.mark.parametrize("where", ["scenario.yaml", "sweep.yaml", "study.json"])
def test_a_topology_of_a_sweep(of: Callable[[str], Path], harm: Harm, where: str) -> None:
    folder = of("sweep")
    harm.put(folder)
    topology = f"{{file: {folder / 'diamond.py'}, class: Diamond}}"
    text = SCENARIO.replace(TOPOLOGY, "" if where != "scenario.yaml" else TOPOLOGY)
    (folder / "scenario.yaml").write_text(
        text.replace("links:", "topology: graph\nlinks:") if "topology" not in text else text
    )
    if where == "sweep.yaml":
        file = folder / where
        file.write_text(file.read_text().replace("seconds:", f"set: {{topology: {topology}}}\nseconds:"))
    elif where == "study.json":
        edit(folder / where, identity={"quick": False, "overrides": [f"topology={topology}"]})
    assert "is Python that comes with a result" in said(folder)
    assert not harm.marker.exists()


@pytest.mark.parametrize(
    "line", ["extends: {outside}/evil.yaml", "extends: ../../../outside/evil.yaml", "extends: {outside}/evil.py"]
)
@pytest.mark.parametrize("kind", ["run", "sweep"])
def test_what_a_scenario_extends(of: Callable[[str], Path], harm: Harm, kind: str, line: str) -> None:
    folder = of(kind)
    (folder / "scenario.yaml").write_text(f"name: forged\n{line.format(outside=harm.place)}\n")
    said(folder)
    assert not harm.marker.exists()


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system", "!!python/name:os.system", "!evil"])
@pytest.mark.parametrize(("kind", "file"), [("run", "scenario.yaml"), ("sweep", "sweep.yaml"), ("table", "table.yaml")])
def test_a_tag(of: Callable[[str], Path], harm: Harm, kind: str, file: str, tag: str) -> None:
    path = of(kind) / file
    path.write_text(path.read_text() + f"description: {tag} ['touch {harm.marker}']\n")
    assert "tag" in said(path.parent)
    assert not harm.marker.exists()


def scenario_with(folder: Path, old: str, new: str) -> None:
    file = folder / "scenario.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize("place", ["absolute", "upwards", "link"])
@pytest.mark.parametrize("what", ["trace", "jitter"])
def test_a_file_of_a_link(of: Callable[[str], Path], tmp_path: Path, what: str, place: str) -> None:
    folder, outside = of("run"), tmp_path / "secret"
    outside.write_text("1\n2\n")
    if place == "link":
        (folder / "secret").symlink_to(outside)
    name = {"absolute": outside, "upwards": os.path.relpath(outside, folder), "link": "secret"}[place]
    of_link = (
        f"trace: {name}, queue: {{limit: 9 packets, mode: droptail}}"
        if what == "trace"
        else f"jitter: {{file: {name}}}"
    )
    scenario_with(folder, "name: slow,", f"name: slow, {of_link},")
    told = said(folder)
    assert "is outside of the result" in told or "leads out of the result" in told


@pytest.mark.parametrize("program", ["command: ./evil.py", "image: evil"])
def test_a_program(of: Callable[[str], Path], harm: Harm, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its folder nor the Docker engine is looked at."""
    folder = of("run")
    looked_at: list[Any] = []
    monkeypatch.setattr("testbed.planning.program.digest", lambda *found: looked_at.extend(found))
    monkeypatch.setattr("testbed.planning.program._of_image", lambda *found: looked_at.extend(found))
    scenario_with(
        folder,
        "ncp: {policy: nkp24, transfer: 4MiB, send_window: 4MiB, mtu: 1024}",
        f"program: {{{program}, folder: {harm.place}, transfer: 1MiB}}",
    )
    (folder / "scenario.yaml").write_text(
        (folder / "scenario.yaml").read_text().split("timeline:")[0]
        + "checks: [{name: payload, judge: payload_intact}]\n"
    )
    edit(folder / "plan.json", overrides=[])
    assert "a program is not with the results" in said(folder)
    assert looked_at == []
    assert not harm.marker.exists()


@pytest.mark.parametrize("key", ["run", "scenario", "namespace"])
@pytest.mark.parametrize("way", ["absolute", "upwards"])
def test_no_other_folder_is_made_anew(of: Callable[[str], Path], tmp_path: Path, key: str, way: str) -> None:
    """A run that is made again begins with an empty folder of its name."""
    folder, victim = of("run"), Path("/tmp") / f"ncp-victim-{os.getpid()}"
    (victim / "kept").mkdir(parents=True)
    try:
        edit(folder / "plan.json", **{key: str(victim) if way == "absolute" else f"../{victim.name}"})
        assert "it names files" in said(folder)
        assert (victim / "kept").is_dir()
    finally:
        shutil.rmtree(victim)


@pytest.mark.parametrize("key", ["sessions", "hosts", "links"])
def test_names_of_files_in_a_plan(of: Callable[[str], Path], key: str) -> None:
    folder = of("run")
    plan = json.loads((folder / "plan.json").read_text())
    plan[key][0]["name"] = "../../outside"
    (folder / "plan.json").write_text(json.dumps(plan))
    assert "it names files" in said(folder)


@pytest.mark.parametrize("kind", ["run", "sweep", "table"])
@pytest.mark.parametrize("rerun", [False, True])
def test_a_commit_that_is_an_option_of_git(of: Callable[[str], Path], tmp_path: Path, kind: str, rerun: bool) -> None:
    folder, victim = of(kind), tmp_path / "victim"
    victim.write_text("precious")
    for file in folder.rglob("provenance.json"):
        edit(file, commit=f"--output={victim}", uncommitted_changes=False, code="")
    verify_folder(folder, rerun=rerun)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("kind", ["run", "sweep", "table"])
@pytest.mark.parametrize("verb", ["verify", "report", "export", "bundle", "compare", "graph"])
def test_a_link_out_of_the_folder(of: Callable[[str], Path], tmp_path: Path, kind: str, verb: str) -> None:
    """Through it a page would be written, or another file be read."""
    folder, victim = of(kind), tmp_path / "victim"
    (victim / "plots").mkdir(parents=True)
    (victim / "plan.json").write_text("{}")
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(victim / "report.html")
    with pytest.raises(BadInput, match="leads out of the result"):
        carry_out([verb, str(folder), *([str(folder)] if verb == "compare" else [])])
    assert not (victim / "report.html").exists()


def test_a_link_that_leads_to_itself(of: Callable[[str], Path]) -> None:
    folder = of("run")
    (folder / "loop").symlink_to("loop")
    verify_folder(folder)


@pytest.mark.parametrize("name", ["../../../victim", "/tmp/ncp-victim"])
def test_files_that_are_named_by_what_was_measured(of: Callable[[str], Path], name: str) -> None:
    folder = of("run")
    telemetry = folder / "telemetry.lp"
    first = telemetry.read_text().splitlines()[0]
    telemetry.write_text(f"{name},{first.partition(',')[2]}\n")
    with pytest.raises(BadInput, match="leads out of the result"):
        carry_out(["export", "--parquet", str(folder)])


def test_plots_that_lead_out(of: Callable[[str], Path], tmp_path: Path) -> None:
    folder = of("table")
    edit(
        folder / "table.json",
        plots=[
            {
                "name": "../../victim",
                "title": "t",
                "x": "x",
                "rows": ["a"],
                "column": "nkp24",
                "over": "nkp24",
                "figure": None,
            }
        ],
    )
    with pytest.raises(BadInput, match="leads out of the result"):
        carry_out(["report", str(folder)])
    assert not list(tmp_path.rglob("victim*"))


def test_known_values_that_are_elsewhere(of: Callable[[str], Path], tmp_path: Path) -> None:
    folder, secret = of("table"), tmp_path / "secret.csv"
    secret.write_text("row,value\na,12345\n")
    with (folder / "table.yaml").open("a") as file:
        file.write(f"known:\n  - {{name: k, file: {secret}, columns: {{nkp24: value}}}}\n")
    told = said(folder)
    assert "is outside of the result" in told
    assert "12345" not in told


def test_the_topology_of_a_tables_cell(of: Callable[[str], Path], harm: Harm) -> None:
    folder = of("table")
    for file in folder.glob("cells/*/*/*/*/scenario.yaml"):
        if not file.parent.is_symlink():
            harm.put(file.parent)
            file.write_text(SCENARIO)
    text = (folder / "table.yaml").read_text()
    topology = f"topology: {{file: {harm.place / 'diamond.py'}, class: Diamond}}"
    (folder / "table.yaml").write_text(text.replace("topology: parallel", topology))
    said(folder)
    assert not harm.marker.exists()


def test_a_cell_that_is_elsewhere(of: Callable[[str], Path]) -> None:
    folder = of("table")
    request = json.loads((folder / "study.json").read_text())["identity"]
    edit(folder / "study.json", identity={**request, "rows": ["../../../outside"]})
    with pytest.raises((TestbedError, KeyError)):
        verify_folder(folder)
    with pytest.raises(BadInput, match="names no cell"):
        confined_group(folder)


def confined_group(folder: Path) -> Any:
    from testbed.study.kinds.compare import recorded

    return recorded("theirs", [str(folder)])


class Reads:
    """Which files of a folder are opened."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: list[str] = []
        opened = Path.read_text

        def read_text(path: Path, *args: Any, **more: Any) -> str:
            if path.resolve().is_relative_to(folder):
                self.found.append(path.name)
            return opened(path, *args, **more)

        monkeypatch.setattr(Path, "read_text", read_text)


@pytest.fixture
def elsewhere(of: Callable[[str], Path], tmp_path: Path) -> Path:
    """A run that is none of the result's."""
    return Path(shutil.move(of("run"), tmp_path / "elsewhere"))


def test_the_runs_of_a_comparison(elsewhere: Path, tmp_path: Path, harm: Harm, monkeypatch: pytest.MonkeyPatch) -> None:
    harm.put(elsewhere)
    entry = {"folder": str(elsewhere), "case": "c", "seed": 1, "trusted": True, "figures": {"goodput_mib_s": 1.0}}
    entry |= {"never": [], "without_figures": "", "standing": "fail"}
    groups: list[dict[str, Any]] = [{"name": name, "runs": [entry], "facts": {}, "missing": 0} for name in ("a", "b")]
    folder = tmp_path / "comparison"
    folder.mkdir()
    document = {"name": "c", "groups": groups, "differences": [], "confidence": 0.95, "command": "", "words": {}}
    (folder / "compare.json").write_text(json.dumps(document))
    reads = Reads(elsewhere, monkeypatch)
    assert "are not in the folder" in said(folder)
    for way in (os.path.relpath(elsewhere, folder), "linked"):
        entry["folder"] = way
        (folder / "compare.json").write_text(json.dumps(document))
        if way == "linked":
            (folder / way).symlink_to(elsewhere)
        said(folder)
    assert reads.found == []


@pytest.mark.parametrize("run", ["/{elsewhere}", "../../../../{name}"])
@pytest.mark.parametrize("scenario", ["startup", "../../x"])
def test_the_runs_of_a_cross_check(
    elsewhere: Path, tmp_path: Path, run: str, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cross-check"
    (folder / "cells" / "startup" / "sim").mkdir(parents=True)
    from testbed.study.kinds.cross_check import WORDS

    where = run.format(elsewhere=str(elsewhere).lstrip("/"), name=elsewhere.name)
    entry = {"scenario": scenario, "verdict": "pass", "runs": {WORDS["sim"]: where}}
    (folder / "cross-check.json").write_text(json.dumps({"scenarios": [entry], "refused": {}}))
    reads = Reads(elsewhere, monkeypatch)
    with pytest.raises(BadInput, match=r"leads out of the result|names no cell"):
        verify_folder(folder)
    assert reads.found == []


def test_the_runs_of_repetitions(elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "repetitions"
    folder.mkdir()
    entry = {"name": "..", "runs": [{}, {}], "other_seed": {}, "span": []}
    (folder / "hashes.json").write_text(json.dumps([entry]))
    with pytest.raises(BadInput, match="names no cell"):
        verify_folder(folder)


REFERENCE = next(path.parent for path in sorted((paths.CHECKOUT / "data" / "reference").glob("*/claims.json")))


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """A reference, to which a run can be added."""
    place = tmp_path / "all" / "claims"
    place.mkdir(parents=True)
    for name in ("claims.json", "claims.csv", "provenance.json"):
        shutil.copy(REFERENCE / name, place)
    return place


def with_run(claims: Path, folder: str) -> None:
    """Its first run that has a folder is said to be elsewhere."""
    document = json.loads((claims / "claims.json").read_text())
    name = next(name for name, run in document["runs"].items() if run["folder"])
    document["runs"] = {name: {**document["runs"][name], "folder": folder}}
    document["claims"] = [claim for claim in document["claims"] if claim["run"] == name]
    document["complete"] = True
    (claims / "claims.json").write_text(json.dumps(document))


@pytest.mark.parametrize("verb", ["verify", "report", "reference"])
@pytest.mark.parametrize("way", ["absolute", "upwards", "link"])
def test_the_runs_of_claims(
    claims: Path, elsewhere: Path, way: str, verb: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("testbed.study.kinds.claims.REFERENCES", tmp_path / "reference")
    if way == "link":
        (claims / "linked").symlink_to(elsewhere)
    names = {"absolute": str(elsewhere), "upwards": os.path.relpath(elsewhere, claims), "link": "linked"}
    with_run(claims, names[way])
    reads = Reads(elsewhere, monkeypatch)
    with pytest.raises(BadInput, match="leads out of the result"):
        carry_out([verb, str(claims), *(["kept"] if verb == "reference" else [])])
    assert reads.found == []
    assert not (tmp_path / "reference").exists()


@pytest.mark.parametrize("before", [False, True], ids=["kept", "of before"])
def test_a_sweep_among_claims(claims: Path, of: Callable[[str], Path], harm: Harm, before: bool) -> None:
    folder = claims / "runs" / "x" / "tiny" / "sweep-1"
    folder.parent.mkdir(parents=True)
    shutil.move(of("sweep"), folder)
    file = folder / "sweep.yaml"
    file.write_text(file.read_text().replace("scenario: startup", f"scenario: {harm.place / 'evil.py'}"))
    if before:
        (folder / "scenario.yaml").unlink(missing_ok=True)
    with_run(claims, str(folder.relative_to(claims)))
    said(claims)
    assert not harm.marker.exists()


def test_results_beside_others_have_no_links_out(claims: Path, tmp_path: Path) -> None:
    from testbed.study.checks.claims import read_beside

    shutil.move(claims / "claims.json", tmp_path / "claims.json")
    (claims / "claims.json").symlink_to(tmp_path / "claims.json")
    with pytest.raises(BadInput, match="leads out of the result"):
        read_beside([claims], "vkernel")


@pytest.mark.parametrize("where", ["inside", "itself"])
def test_a_study_that_goes_on_has_no_links_out(tmp_path: Path, where: str) -> None:
    """Tables, claims and the matrix of implementations begin and go on in the same way."""
    base, outside = tmp_path / "results", tmp_path / "outside"
    outside.mkdir()
    (outside / "study.json").write_text("{}")
    if where == "inside":
        (base / "1").mkdir(parents=True)
        (base / "1" / "study.json").write_text("{}")
        (base / "1" / "cells").symlink_to(outside)
    else:
        base.mkdir()
        (base / "1").symlink_to(outside)
    with pytest.raises(BadInput, match="leads out of the result"):
        begin(base, "table", {}, "1")


def test_a_table_that_goes_on_executes_nothing_of_its_cells(
    of: Callable[[str], Path], harm: Harm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = of("table")
    for file in folder.glob("cells/*/*/*/*/scenario.yaml"):
        if not file.parent.is_symlink():
            harm.put(file.parent)
            file.write_text(SCENARIO)
            shutil.copy(file.parent / "evil.py", file.parent / "scenario.py")
    shutil.move(folder, folder.parent.parent / "tiny" / folder.name)
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    (tmp_path / "table.yaml").write_text(TABLE)
    verdict, _ = table_run.run(
        tables.load(str(tmp_path / "table.yaml")), table_run.TableRequest(engine="sim", resume=folder.name)
    )
    assert verdict.verdict == "pass"
    assert not harm.marker.exists()


def test_a_matrix_of_implementations_is_no_result_that_is_verified(tmp_path: Path, harm: Harm) -> None:
    (tmp_path / "interop").mkdir()
    (tmp_path / "interop" / "study.json").write_text('{"kind": "interop"}')
    (tmp_path / "interop" / "network.yaml").write_text(SCENARIO)
    harm.put(tmp_path / "interop")
    assert "is not a result folder" in said(tmp_path / "interop")
    assert not harm.marker.exists()


def test_python_objects_in_a_sweeps_table(of: Callable[[str], Path], harm: Harm) -> None:
    """Arrow's Python extension types were pickled in a file's metadata."""
    folder = of("sweep")
    pickled = f"cos\nsystem\n(S'touch {harm.marker}'\ntR.".encode()
    metadata = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": pickled}
    rows = pq.read_table(folder / "table.parquet")
    fields = [field.with_metadata(metadata) for field in rows.schema]
    pq.write_table(pa.table(list(rows.columns), schema=pa.schema(fields)), folder / "table.parquet")
    verify_folder(folder, rerun=True)
    assert not harm.marker.exists()


def test_what_is_read_for_a_user_is_not_confined(harm: Harm) -> None:
    from testbed.scenario.load import load

    harm.place.chmod(0o755)
    with pytest.raises(BadInput):  # it returns nothing that is a scenario
        load(str(harm.place / "evil.py"))
    assert harm.marker.exists()


def test_confinement_inside_another_never_trusts_more(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with confine.to(tmp_path / "a"), confine.to(tmp_path, trust_code=True), pytest.raises(BadInput):
        confine.code(tmp_path / "evil.py", "scenario")


SENT_BY = """\
import json, os, socket

def facts():
    found = {"uid": os.geteuid(), "groups": os.getgroups(), "interfaces": [name for _, name in socket.if_nameindex()]}
    for place in ("/tmp", "/var/tmp", "/dev/shm", "{outside}"):
        try:
            open(os.path.join(place, "ncp-written"), "w").close()
            found["written"] = place
        except OSError:
            pass
    for address in (("198.18.0.1", 1), "/run/docker.sock", "/var/run/docker.sock"):
        family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
        try:
            socket.socket(family).connect(address)
            found["connected"] = str(address)
        except OSError:
            pass
    return json.dumps(found)
"""


@pytest.mark.root
def test_python_that_is_trusted_has_no_rights(of: Callable[[str], Path], tmp_path: Path) -> None:
    folder, outside = of("run"), tmp_path / "open"
    outside.mkdir()
    outside.chmod(0o777)
    program = (
        SENT_BY.replace("{outside}", str(outside)) + "def scenario():\n    return {'name': 'x', 'title': facts()}\n"
    )
    (folder / "scenario.py").write_text(program)
    assert "which only --trust-code executes" in said(folder, rerun=False)
    told = "\n".join(map(str, verify_folder(folder, trust_code=True).differences))
    assert "scenario.yaml by scenario.py" in told
    assert '"uid": 65532, "groups": [], "interfaces": ["lo"]}' in told, told
    assert not list(outside.iterdir())


@pytest.mark.root
def test_a_topology_that_is_trusted_has_no_rights(of: Callable[[str], Path], harm: Harm) -> None:
    """And without being trusted it is not executed, whatever the scenario calls it."""
    pytest.importorskip("mininet.topo")
    folder = of("run")
    (folder / "scenario.yaml").write_text(SCENARIO)
    shutil.copy(harm.place / "diamond.py", folder / "topology.py")
    plan = json.loads((folder / "plan.json").read_text())
    plan["topology"] = {"name": "custom", "file": "/gone/diamond.py", "class": "Diamond", "options": {}}
    (folder / "plan.json").write_text(json.dumps({**plan, "overrides": []}))
    assert "which only --trust-code executes" in said(folder)
    text = (folder / "topology.py").read_text().replace(".touch()", "")
    (folder / "topology.py").write_text(text + SENT_BY + "Diamond.__doc__ = facts()\nraise KeyError(Diamond.__doc__)\n")
    told = "\n".join(map(str, verify_folder(folder, trust_code=True).differences))
    assert '"uid": 65532, "groups": [], "interfaces": ["lo"]}' in told, told
    assert not harm.marker.exists()


@pytest.mark.root
def test_an_honest_topology_is_confirmed_where_it_is_trusted(
    tmp_path: Path, harm: Harm, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mininet.topo")
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    diamond = harm.place / "diamond.py"
    diamond.write_text(diamond.read_text().split("\n", 2)[2])
    harm.place.chmod(0o755)
    assert carry_out(["run", str(harm.place / "evil.yaml"), "--engine", "sim", "--set", "transfer=256KiB"]) == 0
    folder = (tmp_path / "results" / "diamond" / "latest").resolve()
    assert (folder / "topology.py").read_text() == diamond.read_text()
    diamond.unlink()
    found = verify_folder(folder, rerun=True)
    assert found.differences == []
    assert "rerun.no-plan" in codes(found.unchecked)
    found = verify_folder(folder, rerun=True, trust_code=True)
    assert found.differences == []
    assert "rerun.same-bytes" in codes(found.notes), found


def test_without_root_nothing_is_trusted(
    of: Callable[[str], Path], harm: Harm, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = of("run")
    harm.put(folder)
    shutil.copy(folder / "evil.py", folder / "scenario.py")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(TestbedError, match="without root"):
        verify_folder(folder, trust_code=True)
    assert not harm.marker.exists()


HTML = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize(
    ("kind", "file"),
    [("run", "plan.json"), ("run", "verdict.json"), ("run", "provenance.json"), ("table", "table.json")],
)
def test_texts_of_a_result_are_text_on_its_page(of: Callable[[str], Path], kind: str, file: str) -> None:
    """Whatever is a text in a document, and has no words of its own, becomes HTML; the page shows it as text."""
    folder = of(kind)
    document = json.loads((folder / file).read_text())
    for key in [key for key, value in document.items() if isinstance(value, str)]:
        kept = (folder / file).read_text()
        edit(folder / file, **{key: HTML})
        try:
            carry_out(["report", str(folder)])
        except TestbedError:
            (folder / file).write_text(kept)  # it is a name, which is one of a few
            continue
        pages = [folder / "report.html", *(folder / "plots").glob("*.svg")]
        assert all("<img src=x" not in page.read_text() for page in pages), key
    assert "&lt;img src=x" in (folder / "report.html").read_text()


def test_a_page_links_to_no_script(claims: Path) -> None:
    document = json.loads((claims / "claims.json").read_text())
    document["runs"] = {}
    for claim in document["claims"]:
        claim["report"] = "javascript:alert(1)/../report.html"
    (claims / "javascript:alert(1)").mkdir()
    (claims / "report.html").touch()
    (claims / "claims.json").write_text(json.dumps(document))
    carry_out(["report", str(claims)])
    assert 'href="javascript' not in (claims / "report.html").read_text()


def test_a_terminal_is_not_written_over(
    of: Callable[[str], Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = of("run")
    monkeypatch.setattr("sys.argv", ["./run.sh", "verify", str(folder)])
    for name in ("scenario", "broken"):
        edit(folder / "verdict.json", **{name: "\x1b[2J\x1b[H\nCONFIRMED PASS\r"})
        with pytest.raises(SystemExit):
            main()
    printed = capsys.readouterr()
    assert "\\u001b[2J" in printed.out
    assert "\\u001b[2J" in printed.err
    assert "\nCONFIRMED" not in printed.out
    assert "\x1b" not in printed.out + printed.err


def test_code_comes_in_by_known_places_alone() -> None:
    """A new one asks `testbed.confine` first, or takes nothing from a result, and is then added here."""
    found = set()
    for folder in ("testbed", "topologies"):
        for file in (paths.CHECKOUT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                called = node.func if isinstance(node, ast.Call) else None
                of_pickle = isinstance(called, ast.Attribute) and ast.unparse(called.value) in (
                    "pickle",
                    "marshal",
                    "runpy",
                )
                by_name = isinstance(called, ast.Name) and called.id in ("exec", "eval")
                derived = isinstance(node, ast.ClassDef) and any(
                    "Unpickler" in ast.unparse(base) for base in node.bases
                )
                if of_pickle or by_name or derived:
                    found.add(str(file.relative_to(paths.CHECKOUT)))
    assert found == {
        "testbed/study/hosts/transfer.py",  # what workers and submitters send each other
        "testbed/study/pool.py",  # errors of its own processes
        "testbed/scenario/bounded.py",  # copies of what it has read itself, in its own memory
        "testbed/scenario/call_scenario.py",
        "topologies/custom.py",
    }


def test_a_trace_is_looked_for_in_the_commits_that_this_checkout_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not in others, which may be anybody's; neither may a result name the folder of any."""
    name = "links-trace"
    shutil.copy(paths.SCENARIOS / "links" / f"{name}.yaml", tmp_path / "scenario.yaml")
    here = own_file(tmp_path / "scenario.yaml", name, "")
    assert here == paths.SCENARIOS / "links" / f"{name}.yaml"
    monkeypatch.setattr("testbed.scenario.files.links", list)  # as if it had been removed since
    commit = git("rev-parse", "HEAD").stdout.decode().strip()
    with confine.to(tmp_path):
        there = own_file(tmp_path / "scenario.yaml", name, commit)
        assert there == COMMITS / commit[:16] / "scenarios" / "links" / f"{name}.yaml"
        assert not confine.code(there.with_suffix(".py"), "topology")
    with confine.to(tmp_path), pytest.raises(BadInput):
        confine.code(there.with_suffix(".py"), "topology")
    # git says so of a commit that HEAD does not descend from.
    monkeypatch.setattr("testbed.study.own_scenario.answer", lambda *_: None)
    assert own_file(tmp_path / "scenario.yaml", name, commit) == tmp_path / "scenario.yaml"
