"""Runs of a checkout with changes that are in no commit: with the diff that such a run keeps, and its user's consent,
another checkout makes it again. A diff that is not what it should be is refused, and nothing of it is built."""

from __future__ import annotations

import difflib
import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import engines, paths
from testbed.archive.kinds import verify_folders
from testbed.archive.verify import unpacked, verify_bundle
from testbed.cli.app import carry_out
from testbed.engines import provenance
from testbed.errors import BadInput
from testbed.judge import changes
from testbed.judge.history import git, provenance_of
from testbed.planning.resolve import Choices
from testbed.results.report.render import write_report
from testbed.runtime.progress import QuietProgress
from testbed.study import programs
from testbed.study.kinds import sweep, sweep_file
from testbed.study.run import run_cells
from testbed.study.verify import Verification
from tests.bundle import made
from tests.bundle.made import edit
from tests.said import Saying, codes

HEAD = git("rev-parse", "HEAD").stdout.decode().strip()
SIM = engines.named("sim")
NKP24 = "ncp-agent/policy/nkp24.go"

pytestmark = pytest.mark.skipif(not HEAD, reason="this checkout has no history")


def diff_of(name: str, before: str, after: str) -> str:
    """A diff of a file at HEAD."""
    text = git("show", f"HEAD:{name}").stdout.decode()
    assert before in text
    lines, changed = (given.splitlines(keepends=True) for given in (text, text.replace(before, after)))
    body = "".join(difflib.unified_diff(lines, changed, f"a/{name}", f"b/{name}"))
    return f"diff --git a/{name} b/{name}\nindex 1..2 100644\n{body}"


def new(name: str, mode: str = "100644") -> str:
    return (
        f"diff --git a/{name} b/{name}\nnew file mode {mode}\nindex 0000000..1\n--- /dev/null\n+++ b/{name}\n"
        "@@ -0,0 +1 @@\n+package policy\n"
    )


FASTER = diff_of(NKP24, "p.windows[c]++", "p.windows[c] += 2")
"""A policy of the user's own: it grows twice as fast."""


def bring(folder: Path, diff: str) -> None:
    """Have a result bring a diff, with its checksum."""
    data = diff.encode("latin-1")
    (folder / changes.FILE).write_bytes(data)
    entry = {"sha256": hashlib.sha256(data).hexdigest(), "left_out": []}
    edit(folder / "provenance.json", commit=HEAD, uncommitted_changes=True, uncommitted_diff=entry)


@pytest.fixture(scope="module")
def own_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that a checkout of HEAD with that policy made."""
    place = tmp_path_factory.mktemp("own-policy")
    theirs, loaded = programs.of_changes(HEAD, FASTER, SIM), made.loaded(place)
    plan = SIM.plan(loaded, theirs, Choices("virtual", "model", 3, engine="sim"))
    run = SIM.run(plan, loaded, theirs, QuietProgress(), place)
    run.without_database(None)
    made.write_provenance(run.folder, plan, {})
    bring(run.folder, FASTER)
    write_report(run.folder)
    return run.folder


@pytest.fixture
def copy(own_policy: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(own_policy, tmp_path / own_policy.name))


@pytest.fixture
def _nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object) -> None:
        raise AssertionError("a diff was built")

    monkeypatch.setattr("testbed.archive.provenance_check.of_changes", build)


def verified(folder: Path, *, rerun: bool = True, trust_diff: bool = True) -> Verification:
    (found,) = verify_folders([folder], rerun=rerun, trust_diff=trust_diff)
    return found


@pytest.mark.usefixtures("_nothing_is_built")
@pytest.mark.parametrize("rerun", [False, True])
def test_without_consent_it_says_what_is_needed_and_builds_nothing(own_policy: Path, rerun: bool) -> None:
    found = verified(own_policy, rerun=rerun, trust_diff=False)
    assert (found.word, codes(found.unchecked)) == ("INCOMPLETE", ["diff.not-trusted"])
    assert [*found.unchecked] == [Saying("diff.not-trusted", commit=HEAD[:12], file=changes.FILE)]


@pytest.mark.parametrize("rerun", [False, True])
def test_with_consent_it_is_made_again(own_policy: Path, rerun: bool) -> None:
    found = verified(own_policy, rerun=rerun)
    assert (found.word, [*found.differences], [*found.unchecked]) == ("CONFIRMED", [], [])
    assert ("rerun.same-bytes" in codes(found.notes)) is rerun


def test_a_bundle_carries_it(own_policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "my results.zip"
    assert carry_out(["bundle", str(own_policy), "-o", str(file)]) == 0
    assert capsys.readouterr().out.endswith("./run.sh verify 'my results.zip'\n")
    with unpacked(file) as place:
        assert [path.name for path in place.rglob("*.diff")] == [changes.FILE]
        assert [found.word for found in verify_bundle(place)] == ["CONFIRMED", "INCOMPLETE"]
    assert carry_out(["verify", "--rerun", str(file)]) == 3
    assert "--trust-diff" in capsys.readouterr().out.splitlines()[-1]
    assert carry_out(["verify", "--rerun", "--trust-diff", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("CONFIRMED")


SWEEP = """\
name: tiny
title: How the delay of one link changes what two links carry
scenario: startup
seconds: 2s
parameters:
  links.slow.delay: [20ms, 100ms]
policies: [nkp24]
plots:
  - {figure: of_bound, x: links.slow.delay}
"""


def test_a_sweep_brings_it_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file := tmp_path / "tiny.yaml").write_text(SWEEP)
    begun = sweep.begin(sweep_file.load(str(file)), programs.of_changes(HEAD, FASTER, SIM), tmp_path)
    begun.finish(run_cells(begun.spec.cells, tmp_path / "cells", QuietProgress()))
    bring(begun.folder, FASTER)
    without = verified(begun.folder, trust_diff=False)
    assert (without.word, codes(without.unchecked)) == ("INCOMPLETE", ["policies.no-program-of-a-sweep"])
    assert carry_out(["verify", str(begun.folder)]) == 3
    assert "which only --trust-diff builds and runs; all else is" in capsys.readouterr().out.splitlines()[-1]
    found = verified(begun.folder)
    assert (found.word, [*found.differences], [*found.unchecked]) == ("CONFIRMED", [], [])
    assert "sweep.made-again" in codes(found.notes)
    bring(begun.folder, diff_of(NKP24, "p.windows[c]++", "p.windows[c] += 3"))
    assert verified(begun.folder).word == "NOT CONFIRMED"


def test_data_that_the_diff_does_not_give_are_not_confirmed(copy: Path) -> None:
    made.forge_telemetry(copy)
    found = verified(copy)
    assert "rerun.other-bytes" in codes(found.differences)


def test_other_changes_than_those_that_made_it_give_another_name(copy: Path) -> None:
    bring(copy, diff_of(NKP24, "p.windows[c]++", "p.windows[c] += 3"))
    assert "commit.other-agent" in codes(verified(copy, rerun=False).differences)
    edit(copy / "provenance.json", uncommitted_diff={**entry_of(copy), "left_out": ["go.mod"]})
    found = verified(copy, rerun=False)
    assert "commit.other-agent" not in codes(found.differences)
    assert "commit.other-agent" in codes(found.unchecked)


def entry_of(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "provenance.json").read_text())[changes.KEY]
    return found


@pytest.mark.usefixtures("_nothing_is_built")
def test_a_diff_that_was_changed_is_refused(copy: Path) -> None:
    file = copy / changes.FILE
    file.write_bytes(file.read_bytes().replace(b"+= 2", b"+= 3"))
    assert [*verified(copy).differences] == [Saying("diff.changed", file=changes.FILE)]
    file.unlink()
    assert [*verified(copy, rerun=False).differences] == [Saying("diff.changed", file=changes.FILE)]


def test_a_diff_of_another_commit_does_not_apply(copy: Path) -> None:
    bring(copy, FASTER.replace("-\t\tp.windows[c]++", "-\t\tp.windows[c] += 1"))
    assert Saying("diff.of-another-commit", file=changes.FILE) in verified(copy, rerun=False).differences


OUTSIDE = {
    "above": new("ncp-agent/policy/../../../evil.go"),
    "absolute": new("/tmp/evil.go"),
    "git": new(".git/hooks/post-checkout"),
    "git below": new("ncp-agent/.git/config"),
    "elsewhere": new("run.sh"),
    "modules": new("go.mod"),
    "link": new("ncp-agent/policy/evil.go", "120000"),
    "submodule": new("ncp-agent/policy/evil", "160000"),
    "becomes a link": FASTER.replace("index 1..2 100644", "old mode 100644\nnew mode 120000"),
    "rename": f"diff --git a/{NKP24} b/run.sh\nrename from {NKP24}\nrename to run.sh\n",
    "binary": new("ncp-agent/policy/a.bin").replace("--- /dev/null", "GIT binary patch"),
    "no text": FASTER + "\xff",
    "nothing": "",
    "too large": new("ncp-agent/policy/a.go") + "+//\n" * changes.LARGEST_BYTES,
}


@pytest.mark.parametrize("which", OUTSIDE)
def test_a_diff_that_reaches_elsewhere_is_not_read(tmp_path: Path, which: str) -> None:
    (tmp_path / "provenance.json").write_text("{}")
    bring(tmp_path, OUTSIDE[which])
    with pytest.raises(BadInput) as refused:
        changes.kept(tmp_path, provenance_of(tmp_path))
    assert refused.value.said == Saying("diff.not-of-sources", file=changes.FILE)


@pytest.mark.usefixtures("_nothing_is_built")
def test_a_result_with_such_a_diff_is_not_confirmed(copy: Path) -> None:
    bring(copy, OUTSIDE["link"])
    assert Saying("diff.not-of-sources", file=changes.FILE) in verified(copy).differences


@pytest.mark.parametrize("name", ["../evil.go", "/evil.go", "run.sh", ".git/config", "testbed/.git/config"])
def test_a_file_that_only_git_finds_in_a_diff_is_refused_as_well(name: str) -> None:
    hidden = f"{FASTER}--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+package policy\n"
    assert changes._is_plain(hidden)  # no header of git's
    before, is_there = sorted(programs.COMMITS.iterdir()), (paths.CHECKOUT / name).exists()
    with pytest.raises(BadInput) as refused:
        programs.sources_of(HEAD, hidden)
    assert refused.value.said.code == "diff.not-of-sources"
    assert sorted(programs.COMMITS.iterdir()) == before
    assert (paths.CHECKOUT / name).exists() is is_there


def in_a_repository(place: Path) -> Callable[..., None]:
    def run(*arguments: str) -> None:
        user = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", "-C", str(place), *user, *arguments], check=True)

    for name in ("internal/a.go", "internal/gone.go", "docs/a.md", "go.mod"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(f"{name}\n")
    (place / ".gitignore").write_text("ignored.go\n")
    run("init", "-q")
    run("add", ".")
    run("commit", "-q", "-m", "one")
    return run


def test_a_run_keeps_what_its_checkout_had_in_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout, folder = tmp_path / "checkout", tmp_path / "result"
    checkout.mkdir()
    folder.mkdir()
    commit_all = in_a_repository(checkout)
    monkeypatch.setattr(paths, "CHECKOUT", checkout)
    monkeypatch.setattr(changes, "of_checkout", changes.of_checkout.__wrapped__)
    provenance.write(folder, provenance.of_machine_and_code())
    assert not (folder / changes.FILE).exists()
    (checkout / "internal" / "a.go").write_text("changed\n")
    (checkout / "internal" / "gone.go").unlink()
    (checkout / "internal" / "new.go").write_text("new\n")
    (checkout / "internal" / "ignored.go").write_text("ignored\n")
    (checkout / "internal" / "binary").write_bytes(b"\0\1")
    (checkout / "internal" / "link").symlink_to("/etc/passwd")
    for elsewhere in ("docs/a.md", "go.mod"):
        (checkout / elsewhere).write_text("changed\n")
    (checkout / "secret.txt").write_text("secret\n")
    document = provenance.of_machine_and_code()
    provenance.write(folder, document)
    assert document["uncommitted_diff"]["left_out"] == ["go.mod", "internal/binary", "internal/link"]
    diff = changes.kept(folder, json.loads((folder / "provenance.json").read_text()))
    assert [line for line in diff.splitlines() if line.startswith("diff --git")] == [
        f"diff --git a/internal/{name} b/internal/{name}" for name in ("a.go", "gone.go", "new.go")
    ]
    commit_all("stash", "-q", "-u")
    tree = checkout / ".build" / "tree"
    shutil.copytree(checkout / "internal", tree / "internal")
    changes.apply(diff, tree)
    assert sorted(path.name for path in (tree / "internal").iterdir()) == ["a.go", "ignored.go", "new.go"]
    assert (tree / "internal" / "a.go").read_text() == "changed\n"


def test_too_much_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_repository(tmp_path)
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)
    (tmp_path / "internal" / "large.go").write_text("// \n" * changes.LARGEST_BYTES)
    (tmp_path / "internal" / "small.go").write_text("//\n")
    entry = changes.of_checkout.__wrapped__()
    assert entry["left_out"] == ["internal/large.go"]
    assert "small.go" in entry["text"]
