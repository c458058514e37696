"""Root and the clone's owner take turns: what root made is the owner's afterwards."""

import os
from pathlib import Path

import pytest

from testbed.cli.app import give_to_the_owner

OWNER = (12345, 12346)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make files that are another's")


@needs_root
def test_what_root_made_in_anothers_clone_becomes_theirs(tmp_path: Path) -> None:
    clone, outside = tmp_path / "clone", tmp_path / "outside"
    outside.mkdir()
    (clone / "results" / "startup" / "run").mkdir(parents=True)
    (clone / "results" / "startup" / "run" / "plan.json").touch()
    (clone / "results" / "startup" / "latest").symlink_to("run")
    (clone / "results" / "elsewhere").symlink_to(outside)
    (clone / "README.md").touch()
    os.chown(clone, *OWNER)
    give_to_the_owner(clone)
    for path in (clone / "results", *(clone / "results").rglob("*")):
        found = path.lstat()
        assert (found.st_uid, found.st_gid) == OWNER, path
    assert outside.stat().st_uid == 0, "it is only linked"
    assert (clone / "README.md").stat().st_uid == 0, "no run made it"


@needs_root
def test_what_a_third_user_made_stays_theirs(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    os.chown(tmp_path / "results", 777, 777)
    os.chown(tmp_path, *OWNER)
    give_to_the_owner(tmp_path)
    assert (tmp_path / "results").stat().st_uid == 777


@needs_root
def test_in_its_own_clone_root_keeps_everything(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    give_to_the_owner(tmp_path)
    assert (tmp_path / "results").stat().st_uid == 0
