"""What an audit makes of its tools' answers: none known, known, or nobody was asked, which is no success."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import paths

ANSWERED = {
    "pip-audit": json.dumps({"dependencies": [{"name": "a", "version": "1", "vulns": []}]}),
    "npm": json.dumps({"auditReportVersion": 2, "metadata": {"vulnerabilities": {"total": 0}}}),
    "go": "No vulnerabilities found.",
    "cargo-audit": json.dumps({"vulnerabilities": {"found": False, "count": 0, "list": []}}),
}
KNOWN = {
    "pip-audit": json.dumps({"dependencies": [{"name": "a", "vulns": [{"id": "PYSEC-1"}]}]}),
    "npm": json.dumps({"auditReportVersion": 2, "metadata": {"vulnerabilities": {"total": 1}}}),
    "go": "Vulnerability #1: GO-2026-0001",
    "cargo-audit": json.dumps({"vulnerabilities": {"found": True, "count": 1, "list": [{}]}}),
}
SKIPPED = json.dumps({"dependencies": [{"name": "a", "vulns": []}, {"name": "b", "skip_reason": "no answer"}]})


def audit(folder: Path, *, said: dict[str, str], codes: dict[str, int]) -> tuple[int, str]:
    """With programs that say this and end so."""
    programs = folder / "bin"
    programs.mkdir()
    for name, text in said.items():
        (programs / name).write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {codes.get(name, 0)}\n")
        (programs / name).chmod(0o755)
    for lock in ("quic/go.sum", "rust/Cargo.lock", "one/package-lock.json", "other/package-lock.json"):
        (folder / "peers" / lock).parent.mkdir(parents=True)
        (folder / "peers" / lock).touch()
    done = subprocess.run(
        [sys.executable, str(paths.CHECKOUT / ".ci" / "audit.py"), str(programs)],
        cwd=folder,
        env={"PATH": f"{programs}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_none_known(tmp_path: Path) -> None:
    code, out = audit(tmp_path, said=ANSWERED, codes={})
    assert (code, out.count("none known")) == (0, 8), out


@pytest.mark.parametrize(("tool", "ended"), [("pip-audit", 1), ("npm", 1), ("go", 3), ("cargo-audit", 1)])
def test_a_known_one_fails(tmp_path: Path, tool: str, ended: int) -> None:
    code, out = audit(tmp_path, said={**ANSWERED, tool: KNOWN[tool]}, codes={tool: ended})
    assert (code, "VULNERABLE" in out) == (1, True), out


@pytest.mark.parametrize("tool", ANSWERED)
@pytest.mark.parametrize("ended", [1, 2])
def test_no_answer_is_no_success(tmp_path: Path, tool: str, ended: int) -> None:
    code, out = audit(tmp_path, said={**ANSWERED, tool: "no such host"}, codes={tool: ended})
    assert (code, "could not be asked" in out) == (4, True), out


@pytest.mark.parametrize("text", [SKIPPED, '{"dependencies": []}', "[]", ""])
def test_a_package_that_nobody_was_asked_about_is_no_success(tmp_path: Path, text: str) -> None:
    code, out = audit(tmp_path, said={**ANSWERED, "pip-audit": text}, codes={})
    assert (code, "::error::audit: 3 of 8 lock files could not be asked about" in out) == (4, True), out


def test_a_tool_that_is_not_there_is_no_success(tmp_path: Path) -> None:
    said = {name: text for name, text in ANSWERED.items() if name != "pip-audit"}
    assert audit(tmp_path, said=said, codes={})[0] == 4
