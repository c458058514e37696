"""Scenarios in Python: what they return is run and kept; whatever else a file does is told in one sentence."""

import hashlib
import json
import os
import re
from pathlib import Path

import pytest

from testbed import engines, paths
from testbed.engines.engine import Options
from testbed.errors import BadInput
from testbed.runtime.progress import QuietProgress
from testbed.scenario import bounded, in_python
from testbed.scenario.load import load
from tests.bundle.made import verify_folder
from tests.raises import Containing, Said, raises
from tests.said import Saying, codes, places

EXAMPLE = paths.CHECKOUT / "examples" / "ladder" / "ladder.py"
SMALL = """
def scenario():
    links = [{"name": f"link-{n}", "rate": "256pps", "delay": "5ms"} for n in (1, 2)]
    return {
        "name": "small", "title": "From Python", "links": links, "ncp": {"policy": "nkp24", "transfer": "64KiB"},
        "checks": [{"name": "payload", "judge": "payload_intact"}], "quick": {"ncp.transfer": "32KiB"},
    }
"""


def write(folder: Path, text: str) -> str:
    file = folder / "mine.py"
    file.write_text(text)
    return str(file)


def refusal(folder: Path, text: str, *assignments: str) -> BadInput:
    file = write(folder, text)
    with pytest.raises(BadInput) as raised:
        load(file, assignments)
    assert raised.value.message.startswith((file, "--set"))
    assert "Traceback" not in raised.value.message
    return raised.value


def test_it_is_as_its_yaml_would_be(tmp_path: Path) -> None:
    found = load(write(tmp_path, SMALL), ["links.link-2.delay=7ms"], quick=True)
    assert [(link.name, link.delay_ms) for link in found.scenario.links] == [("link-1", 5), ("link-2", 7)]
    assert found.overrides == ("ncp.transfer=32KiB", "links.link-2.delay=7ms")
    (tmp_path / "again.yaml").write_text(found.text)
    again = load(str(tmp_path / "again.yaml"), ["links.link-2.delay=7ms"], quick=True)
    assert (again.scenario, again.text) == (found.scenario, found.text)
    assert found.text.startswith("# mine.py, as its scenario() returned it.\n")


def test_it_may_extend_one_in_yaml_and_none_extends_it(tmp_path: Path) -> None:
    child = 'def scenario():\n    return {"name": "child", "extends": "startup", "ncp": {"transfer": "1MiB"}}\n'
    found = load(write(tmp_path, child))
    assert found.scenario.ncp
    assert (found.scenario.ncp.transfer_bytes, len(found.scenario.checks)) == (1 << 20, 9)
    assert "extends:" not in found.text
    Said("scenario.not-found", place=Containing("mine.py: extends"), kind="scenario", name="startap").check(
        refusal(tmp_path, child.replace('"startup', '"startap'))
    )

    marker = tmp_path / "carried-out"
    write(tmp_path, f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n")
    (tmp_path / "harm.yaml").write_text("name: harm\nextends: mine.py\n")
    with raises(BadInput, "scenario.python-extended", place=Containing("harm.yaml:2: extends"), name="mine.py"):
        load(str(tmp_path / "harm.yaml"))
    assert not marker.exists()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            '"5ms"',
            '"5"',
            Said(
                "quantity.no-unit",
                place=Containing("mine.py: links.link-1.delay"),
                field="links.link-1.delay",
                text="5",
            ),
        ),
        (
            '"delay"',
            '"dellay"',
            Said(
                "input.unknown-key",
                place=Containing("mine.py: links.link-1.dellay"),
                field="links.link-1.dellay",
                key="dellay",
                guess="; did you mean 'delay'?",
            ),
        ),
        (
            '"title"',
            '"titel"',
            Said(
                "input.unknown-key",
                place=Containing("mine.py: titel"),
                field="titel",
                key="titel",
                guess="; did you mean 'title'?",
            ),
        ),
        (
            '"5ms"',
            "{5}",
            Said(
                "scenario.python-failed",
                path=Containing("mine.py"),
                error=Containing(": links.link-1.delay: a value of type set is nothing that a scenario says"),
            ),
        ),
        (
            '"5ms"',
            'float("nan")',
            Said(
                "quantity.number-without-unit",
                place=Containing("mine.py: links.link-1.delay"),
                field="links.link-1.delay",
            ),
        ),
        ('"5ms"', "10**400", Said("yaml.integer-too-long", place=Containing("what scenario() returned"))),
        (
            '"5ms"',
            '"\\ud800"',
            Said(
                "quantity.not-a-quantity", place=Containing("mine.py: links.link-1.delay"), field="links.link-1.delay"
            ),
        ),
        (
            '"delay": "5ms"',
            '5: "ms"',
            Said(
                "scenario.python-failed",
                path=Containing("mine.py"),
                error=": links.link-1: the key 5 is a value of type int; keys are texts",
            ),
        ),
        (
            "return {",
            "return [], {",
            Said(
                "scenario.python-failed", error=Containing("scenario() returned a value of type tuple; return a dict")
            ),
        ),
        (
            "return {",
            "x = {",
            Said("scenario.python-failed", error=Containing("scenario() returned None; return a dict")),
        ),
        (
            "return {",
            "links.append(links)\n    return {",
            Said("scenario.python-failed", error=Containing("something that is a part of itself")),
        ),
        ("return {", "return {'x' * 40_000: 1} or {", Said("scenario.python-result-too-long", most_characters=32768)),
        (
            "def scenario",
            "def scenarios",
            Said(
                "scenario.python-failed", error=Containing("has no function scenario(); it is to return the scenario")
            ),
        ),
        (
            "def scenario():",
            "def scenario(seed):",
            Said(
                "scenario.python-failed", path=Containing("mine.py"), error=Containing(": scenario() raised TypeError:")
            ),
        ),
        (
            "    links",
            "    raise KeyError('why')\n    links",
            Said("scenario.python-failed", path=Containing("mine.py"), error=":3: scenario() raised KeyError: 'why'"),
        ),
        (
            "    links",
            "    raise SystemExit(3)\n    links",
            Said("scenario.python-failed", path=Containing("mine.py"), error=":3: scenario() raised SystemExit: 3"),
        ),
        (
            "    links",
            "    input()\n    links",
            Said(
                "scenario.python-failed", path=Containing("mine.py"), error=Containing(":3: scenario() raised EOFError")
            ),
        ),
        (
            "    links",
            "    bytearray(1 << 40)\n    links",
            Said("scenario.python-failed", path=Containing("mine.py"), error=":3: scenario() raised MemoryError"),
        ),
        ("    links", "    import os; os._exit(3)\n    links", Said("scenario.python-ended", exit_code=3)),
        ("    links", "    import os; os.kill(os.getpid(), 9)\n    links", Said("scenario.python-ended", exit_code=-9)),
        (
            "def scenario",
            "import nothing\ndef scenario",
            Said(
                "scenario.python-failed",
                path=Containing("mine.py"),
                error=Containing(":2: can't be loaded: ModuleNotFoundError:"),
            ),
        ),
        (
            "def scenario():",
            "def scenario()",
            Said("scenario.python-failed", path=Containing("mine.py"), error=Containing(":2: not Python:")),
        ),
    ],
)
def test_rubbish_is_told_in_one_sentence(tmp_path: Path, old: str, new: str, says: Said) -> None:
    says.check(refusal(tmp_path, SMALL.replace(old, new, 1)))


@pytest.mark.parametrize(
    "new",
    [
        "__import__('time').time_ns()",
        "__import__('random').random()",
        "' '.join({'several', 'words', 'in', 'a', 'set', 'of', 'no', 'order'})",
    ],
)
def test_what_differs_between_two_calls_is_refused(tmp_path: Path, new: str) -> None:
    said = refusal(tmp_path, SMALL.replace('"From Python"', f"str({new})"))
    assert re.search(r"mine.py: title: '.*', and '.*' when scenario\(\) is called again", str(said))


def test_keys_in_another_order_are_another_scenario(tmp_path: Path) -> None:
    text = "import os\n" + SMALL.replace('"ncp": {', '"ncp": {**dict([] if int(os.environ["PYTHONHASHSEED"]) else A), ')
    text = text.replace("import os", 'import os\nA = [("transfer", "64KiB")]')
    both = "{'transfer': '64KiB', 'policy': 'nkp24'}, and {'policy': 'nkp24', 'transfer': '64KiB'}"
    assert f"mine.py: ncp: {both}" in str(refusal(tmp_path, text))


def test_one_that_never_ends_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_python, "MOST_CPU_S", 1)
    loop = SMALL.replace("    links", "    while True: pass\n    links", 1)
    Said("scenario.python-cpu-limit", cpu_s=1).check(refusal(tmp_path, loop))
    monkeypatch.setattr(in_python, "LIMIT_S", 0.5)
    wait = SMALL.replace("    links", "    __import__('time').sleep(3600)\n    links", 1)
    Said("scenario.python-timeout", timeout_s=0.5).check(refusal(tmp_path, wait))


def test_what_it_prints_is_seen_once_and_is_no_part_of_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = SMALL.replace("    links", "    print('here'); __import__('os').system('echo there')\n    links", 1)
    assert load(write(tmp_path, text)).scenario.name == "small"
    out, err = capfd.readouterr()
    assert (out, sorted(err.split())) == ("", ["here", "there"])


def test_a_file_that_is_too_long_is_not_carried_out(tmp_path: Path) -> None:
    text = "raise SystemExit('carried out')\n" + "#" * bounded.MOST_CHARACTERS
    Said("scenario.python-too-long", most_characters=32768).check(refusal(tmp_path, text))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files to others")
@pytest.mark.parametrize("name", ["mine.py", "."], ids=["file", "folder"])
def test_what_others_may_have_written_is_not_carried_out_as_root(tmp_path: Path, name: str) -> None:
    text = "raise SystemExit('carried out')\n"
    Said("scenario.python-failed", error=Containing("carried out")).check(refusal(tmp_path, text))
    (tmp_path / name).chmod(0o777)
    assert f"{(tmp_path / name).resolve()} may be written by others (mode 777)" in str(refusal(tmp_path, text))
    (tmp_path / name).chmod(0o755)
    os.chown(tmp_path / name, 1234, 1234)
    assert f"{(tmp_path / name).resolve()} belongs to user 1234" in str(refusal(tmp_path, text))


def test_the_page_shows_the_example() -> None:
    page = (paths.CHECKOUT / "docs" / "scenarios.md").read_text()
    assert f"```python\n{EXAMPLE.read_text()}```\n" in page


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example's result, in the simulator."""
    for name, value in {"RESULTS": tmp_path / "results", "STATE": tmp_path / "state", "INFLUX_PORT": 18086}.items():
        monkeypatch.setenv(f"NCP_TESTBED_{name}", str(value))
    run = engines.named("sim").ready_run(load(str(EXAMPLE), quick=True), Options(quick=True), QuietProgress())
    assert run.execute().verdict == "pass"
    return run.folder


def test_a_result_keeps_it_and_verifying_never_carries_it_out(folder: Path, tmp_path: Path) -> None:
    program, provenance = folder / "scenario.py", folder / "provenance.json"
    assert program.read_bytes() == EXAMPLE.read_bytes()
    digest = hashlib.sha256(EXAMPLE.read_bytes()).hexdigest()
    assert json.loads(provenance.read_text())["run"]["scenario_py_sha256"] == digest
    found = verify_folder(folder)
    assert found.differences == []
    assert Saying("scenario.of-a-program", program="scenario.py") in found.unchecked

    marker = tmp_path / "carried-out"
    program.write_text(f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n")
    (folder / "scenario.yaml").write_text("name: ladder\nextends: ./scenario.py\n")
    said = verify_folder(folder).differences
    (program_changed,) = (one for one in said if places([one]) == ["provenance.json: run.scenario_py_sha256"])
    assert program_changed.details["recorded"] == digest
    assert "plan.can-not-be-made-again" in codes(said)
    assert not marker.exists()
