"""The digest of the rules by which a sweep measures covers all of their code."""

from pathlib import Path

import grimp
import pytest

from testbed import paths
from testbed.judge import ncp_figures as figures

APART = ("testbed.errors", "testbed.message", "testbed.paths")
"""What the rules import and no figure follows from: how errors are told, and where files are."""


def test_all_that_measures_is_in_it() -> None:
    imported = grimp.build_graph("testbed", "topologies").find_upstream_modules("testbed.judge.ncp_figures") - set(
        APART
    )
    assert {"testbed.judge.checks.in_range", "testbed.judge.status", "topologies.units"} <= imported
    files = {file.relative_to(paths.CHECKOUT).with_suffix("") for file in figures.sources()}
    assert {Path(*module.split(".")) for module in imported} <= files | {file.parent for file in files}


def test_it_changes_with_each_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / name for name in ("a.py", "b.py")]
    monkeypatch.setattr(figures, "sources", lambda: files)
    for file in files:
        file.write_text("before")
    found = {figures.rules.__wrapped__()}
    for file in files:
        file.write_text("after")
        found.add(figures.rules.__wrapped__())
    assert len(found) == 3
    files[0].unlink()
    with pytest.raises(FileNotFoundError):
        figures.rules.__wrapped__()
