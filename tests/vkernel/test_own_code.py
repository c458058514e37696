"""A user's own code in a guest: the agent and npm's package given by their paths, the examples to begin with, and what
breaks the contract."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.documents import read_csv, read_json
from testbed.engines.vkernel.run import GuestRun
from testbed.errors import RunFailed
from testbed.machine import build
from testbed.plan.codes import FOLDER
from testbed.plan.model import ROLES
from tests.raises import raises

CODES = paths.CHECKOUT / "examples" / "codes"
Run = Callable[..., GuestRun]
SHORT = "ncp.transfer=2MiB"
WINDOWS_OFF = "telemetry.windows-over-the-sessions"
BEGINNING = """\
#!/bin/sh
for each; do [ "$before" = --dir ] && dir=$each; before=$each; done
/checkout/.build/bin/ncp-agent "$@" || exit $?
"""
"""Of a program that is our agent, and changes what that leaves."""


def results_of(run: GuestRun) -> dict[str, Any]:
    return {role: read_json(run.folder / "agents" / f"s1-{role}.json") for role in ROLES}


def assert_alike(run: GuestRun, other: GuestRun, within: float) -> None:
    """Programs of other names take other times in a guest, by microseconds."""
    ends, others = results_of(run), results_of(other)
    for role in ROLES:
        assert ends[role]["sha256"] == others[role]["sha256"]
        for one, its in zip(ends[role]["connections"], others[role]["connections"], strict=True):
            assert {key: one[key] for key in ("sent", "resent", "acked", "lost", "delivered")}.items() <= its.items()
    rows, its_rows = (read_csv(of.folder / "windows.csv") for of in (run, other))
    assert len(rows) == len(its_rows) > 30
    for row, its_row in zip(rows, its_rows, strict=True):
        assert float(row["window"]) == pytest.approx(float(its_row["window"]), rel=within)


def trust_of(run: GuestRun) -> dict[str, Any]:
    trust: dict[str, Any] = json.loads((run.folder / "verdict.json").read_text())["trust"]
    return trust


def installed(folder: Path) -> Path:
    """npm's package where ``npm install`` puts it, with what it requires."""
    own = shutil.copytree(FOLDER / "node_modules", folder / "node_modules", ignore=shutil.ignore_patterns("ncp-*"))
    shutil.copytree(FOLDER / "node_modules" / "ncp-1.1.2", own / "@nkn" / "ncp")
    return folder


def test_our_agent_by_its_path_is_our_agent(guest_run: Run, tmp_path: Path) -> None:
    program = shutil.copy(build.build_programs("ncp-agent")["ncp-agent"], tmp_path / "agent")
    ours, own = guest_run("startup", SHORT), guest_run("startup", SHORT, f"ncp.code={program}")
    assert_alike(ours, own, 1e-3)
    assert trust_of(own)["reasons"] == trust_of(ours)["reasons"] == []
    assert "agent@" in (own.folder / "report.html").read_text()
    assert str(tmp_path / "agent") not in (own.folder / "plan.json").read_text()


def test_npms_package_by_its_path_is_npms_package(guest_run: Run, tmp_path: Path) -> None:
    folder = shutil.copytree(FOLDER / "node_modules" / "ncp-1.1.2", tmp_path / "ncp")
    installed(folder)
    npms, own = (guest_run("startup", SHORT, f"ncp.code={code}") for code in ("npm-1.1.2", folder))
    assert_alike(npms, own, 1e-3)
    assert trust_of(own)["reasons"] == []
    assert results_of(own)["sender"]["implementation"] == "@nkn/ncp 1.1.2"


def test_the_examples_send_by_rules_of_their_own(guest_run: Run, tmp_path: Path) -> None:
    program = tmp_path / "mine"
    command = [build.go_tool(), "build", "-o", str(program), f"./{CODES.relative_to(paths.CHECKOUT)}/go"]
    subprocess.run(command, cwd=paths.CHECKOUT, check=True)
    folder = installed(shutil.copytree(CODES / "js", tmp_path / "js"))
    for code in (program, folder):
        run = guest_run("startup", SHORT, f"ncp.code={code}", "ncp.policy=mine")
        assert trust_of(run)["reasons"] == []
        assert run.plan["sessions"][0]["policy"] == "mine"


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        # Halves of the windows that it has at first, with shares that fit; and counts that are not the wire's.
        (r"s/(window_packets=)[0-9.e+]+/\11024/; s/(window_share=)[0-9.e-]+/\10.5/", {WINDOWS_OFF}),
        (r"s/(,sent=|,acked=)([0-9]+)([0-9])i/\1\2i/g", {"counts.not-its-result", "counts.interface-sent-otherwise"}),
    ],
)
def test_telemetry_that_is_not_what_happened_is_caught(
    guest_run: Run, tmp_path: Path, change: str, codes: set[str]
) -> None:
    program = tmp_path / "liar"
    program.write_text(f"{BEGINNING}sed -i -E '{change}' $dir/telemetry.lp\n")
    program.chmod(0o755)
    run = guest_run("startup", SHORT, f"ncp.code={program}")
    assert codes <= {*trust_of(run)["codes"]}


@pytest.mark.parametrize(
    ("end", "code", "told"),
    [
        ("rm $dir/telemetry.lp", "agent.contract-not-kept", "ncp_session"),
        ("rm $dir/result.json", "agent.contract-not-kept", "sha256"),
        ("echo '{\"schema\": 9}' > $dir/result.json", "agent.contract-not-kept", "sha256"),
        ("echo no licence >&2; exit 7", "agent.ended", "no licence"),
    ],
)
def test_what_breaks_the_contract_ends_the_run(guest_run: Run, tmp_path: Path, end: str, code: str, told: str) -> None:
    program = tmp_path / "broken"
    program.write_text(f"{BEGINNING if 'dir' in end else '#!/bin/sh'}\n{end}\n")
    program.chmod(0o755)
    with raises(RunFailed, code, told=told):
        guest_run("startup", "ncp.transfer=256KiB", f"ncp.code={program}")


def test_what_is_built_meanwhile_is_not_run(guest_run: Run, tmp_path: Path) -> None:
    program = tmp_path / "mine"
    shutil.copy(build.build_programs("ncp-agent")["ncp-agent"], program)
    own = guest_run("startup", SHORT, f"ncp.code={program}")
    name = own.plan["sessions"][0]["code"]["sender"]
    program.write_text("#!/bin/sh\nexit 7\n")
    again = guest_run("startup", SHORT, f"ncp.code={name}", results="again")
    assert again.plan["run"] == own.plan["run"]
    assert (own.folder / "telemetry.lp").read_bytes() == (again.folder / "telemetry.lp").read_bytes()
