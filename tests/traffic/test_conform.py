"""What ``conform`` says of the shipped example, and of one that keeps little of the contract."""

import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import paths
from testbed.cli import app as cli
from testbed.errors import BadInput, RunFailed
from testbed.machine import build
from testbed.traffic.program import conform
from tests.raises import Containing, raises
from tests.traffic.conftest import SCENARIO, Made, planned

EXAMPLE = paths.CHECKOUT / "examples" / "stripes"
PARTS = ["transfer", "one-byte", "links", "seconds", "unknown", "terminated"]


@pytest.fixture
def ask(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, live_runs: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """``./run.sh ARGUMENTS`` in a folder, in this process: exit code and output."""

    def call(folder: Path, *arguments: str) -> tuple[int, str]:
        monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
        monkeypatch.chdir(folder)
        monkeypatch.setattr("sys.argv", ["./run.sh", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), capsys.readouterr().out

    return call


@pytest.mark.root
def test_the_example_keeps_all_of_it(ask: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    code, said = ask(EXAMPLE, "conform", "python3 stripes.py")
    assert code == 0, said
    assert said.splitlines()[-1].startswith("PASS conform ")
    (file,) = (tmp_path / "results").glob("conform/*/conform.json")
    kept = {outcome["case"]: outcome["kept"] for outcome in json.loads(file.read_text())}
    assert kept == dict.fromkeys(PARTS, "kept") | {"seconds": "not supported"}
    assert not list(Path("/run/netns").glob(f"ncp-{file.parent.name[-4:]}*"))


@pytest.mark.root
def test_the_kernels_tcp_keeps_all_of_it_and_sends_for_a_time(ask: Callable[..., tuple[int, str]]) -> None:
    code, said = ask(paths.CHECKOUT / "peers" / "kernel-tcp", "conform", "python3 kernel_tcp.py")
    assert code == 0, said
    assert "not supported" not in said


@pytest.mark.root
def test_one_that_keeps_little_is_told_what(
    ask: Callable[..., tuple[int, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does a transfer whatever it is asked for, over one link only, and ends when it likes."""
    monkeypatch.setattr(conform, "END_S", 0.3)
    text = (EXAMPLE / "stripes.py").read_text()
    for old, new in (
        ("    sys.exit(127)", "    pass"),
        ('int(os.environ["BYTES"])', 'int(os.environ["BYTES"] or 9)'),
        ("started = time.time_ns()\n", "started = time.time_ns()\nimport signal\nsignal.signal(15, signal.SIG_IGN)\n"),
        ('with open(f"{OUT}/result', 'time.sleep(0.6)\nwith open(f"{OUT}/result'),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.py").write_text(text)
    code, said = ask(folder, "conform", "python3 mine.py")
    assert code == 1, said
    (file,) = (tmp_path / "results").glob("conform/*/conform.json")
    outcomes = {outcome["case"]: outcome for outcome in json.loads(file.read_text())}
    assert {name: outcome["kept"] for name, outcome in outcomes.items()} == dict.fromkeys(PARTS, "not kept")
    assert "result was there 0." in outcomes["transfer"]["seen"]
    assert outcomes["unknown"]["seen"] == "it did something"
    assert outcomes["terminated"]["seen"].startswith("still on")


@pytest.mark.parametrize(("said", "code"), [("", "conform.no-program"), ("stripes.py", "conform.program-is-a-file")])
def test_what_is_no_program_is_refused(said: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from testbed.cli.conform import _section

    monkeypatch.chdir(EXAMPLE)
    with raises(BadInput, code):
        _section(said)
    assert _section("mine/quic:1") == {"image": "mine/quic:1"}
    assert _section("python3 stripes.py") == {"command": ["python3", "stripes.py"], "folder": str(EXAMPLE)}


@pytest.mark.root
def test_an_image_is_started_as_a_command_is(
    carry_out: Callable[..., Made], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One with a single static binary, which has no use for what it is told and says so."""
    import docker

    monkeypatch.setattr("testbed.planning.program.UNPACKED", tmp_path / "unpacked")
    binary = build.build_programs("tcp-download")["tcp-download"]
    archive = tmp_path / "image.tar"
    with tarfile.open(archive, "w") as image:
        image.add(binary, "download")
        image.add("/etc/hostname", "../escaped")
    client = docker.from_env()
    name = f"ncp-testbed-test-program:{os.getpid()}"
    try:
        client.api.import_image(
            str(archive), name.split(":")[0], name.split(":")[1], changes='ENTRYPOINT ["/download"]'
        )
        plan = planned(tmp_path, text=SCENARIO.replace("command: python3 mine.py", f"image: {name}"))
        assert plan["program"]["command"] == ["/download"]
        with raises(
            RunFailed,
            "program.ended",
            who="the receiver of session s1",
            status=2,
            said=Containing("Each prints its result"),
        ):
            carry_out(plan)
        folder = Path(plan["program"]["folder"])
        assert {"download", "in", "out"} <= {path.name for path in folder.iterdir()}
        assert not (folder.parent / "escaped").exists()
        with raises(BadInput, "program.no-image", image="not/there"):
            planned(tmp_path, text=SCENARIO.replace("command: python3 mine.py", "image: not/there"))
    finally:
        client.images.remove(name, force=True)
        client.close()
