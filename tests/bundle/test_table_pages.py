"""The pages of a table: a gallery of its runs' own plots, which is verified, and a page of a table that was stopped."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import confine
from testbed.archive import page
from testbed.archive.page import write_page
from testbed.archive.strays import strays
from testbed.runtime.progress import QuietProgress
from testbed.study.kinds import table
from testbed.study.kinds.table_file import load
from testbed.study.verify import Verification
from tests.bundle.made import verify_folder

TABLE = """\
name: small
title: Two rows
cells:
  links: [{name: a, rate: 1024pps, delay: 5ms}]
  ncp: {policy: nkp24, transfer: 256KiB}
  checks: [{name: payload, judge: payload_intact}]
rows:
  - {name: near}
  - {name: far, set: {links.a.delay: 50ms}}
columns:
  - {name: nkp24}
  - {name: previous, set: {policy: previous}}
checks:
  - {name: faster, judge: ratio, column: nkp24, over: previous, min: 0.1}
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("table")
    (place / "small.yaml").write_text(TABLE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NCP_TESTBED_RESULTS", str(place / "results"))
        patch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
        _, folder = table.run(
            load(str(place / "small.yaml")), table.TableRequest(repeat=1, engine="sim"), QuietProgress()
        )
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / finished.name, symlinks=True)


def stopped(folder: Path, *further: str) -> str:
    """The page of a table of which these are not there, as ``report`` writes it."""
    for name in ("verdict.json", "report.html", "gallery.html", "plots", *further):
        shutil.rmtree(path) if (path := folder / name).is_dir() else path.unlink()
    with confine.to_results(folder):
        return write_page(folder).read_text()


def test_the_gallery_has_every_plot_of_every_run(folder: Path) -> None:
    text = (folder / "gallery.html").read_text()
    shown = re.findall(r'<a href="([^"]+)"><img src="([^"]+)"', text)
    drawn = {path.relative_to(folder).as_posix() for path in folder.glob("cells/*/*/*/*/plots/*.svg")}
    drawn = {path for path in drawn if not path.endswith("topology.svg") and "/latest/" not in path}
    assert {picture for _, picture in shown} == drawn
    assert len(shown) == 4 * 6
    assert all((folder / run).is_file() for run, _ in shown)
    assert '<a href="gallery.html">' in (folder / "report.html").read_text()


def test_the_gallery_is_verified_with_the_table(folder: Path) -> None:
    assert list(strays(folder)) == []
    assert verify_folder(folder).word == "CONFIRMED"
    (folder / "gallery.html").unlink()
    assert verify_folder(folder).word == "CONFIRMED", "an older table has none"


FORGED: dict[str, Callable[[str], str]] = {
    "another run's picture": lambda text: text.replace("cells/near/nkp24/1/", "cells/far/nkp24/1/", 1),
    "a picture less": lambda text: re.sub(r"<a href=[^\n]*<img [^\n]*\n", "", text, count=1),
    "another status": lambda text: text.replace('"status pass">pass', '"status fail">fail', 1),
    "a picture from elsewhere": lambda text: text.replace('src="cells/', 'src="http://example.org/cells/', 1),
    "a picture from above": lambda text: text.replace('src="cells/', 'src="cells/../../', 1),
    "a handler": lambda text: text.replace(' loading="lazy"', ' loading="lazy" onerror="alert(1)"', 1),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_gallery_is_a_difference(folder: Path, finished: Path, name: str) -> None:
    gallery, verified = folder / "gallery.html", Verification("", "")
    forged = FORGED[name](gallery.read_text())
    assert forged != gallery.read_text()
    gallery.write_text(forged)
    recorded = json.loads(next(folder.glob("cells/**/provenance.json")).read_text())
    page.compare(folder, finished, verified, recorded)
    assert any(str(one).startswith("gallery.html") for one in verified.differences)


def test_a_table_that_was_killed_half_way_has_a_page(folder: Path) -> None:
    """Before its documents were written."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    text = stopped(folder, "table.json", "table.csv", "cells/far")
    assert '<p class="word">UNFINISHED</p>' in text
    assert "2 of 4 cells were run. There is no verdict before all are." in text
    assert '<header class="banner neutral">' in text
    assert all((folder / link).is_file() for link in re.findall(r'href="(cells/[^"]+)"', text))
    assert len(re.findall("<img ", (folder / "gallery.html").read_text())) == 2 * 6
    written = {path for path in folder.rglob("*") if path.is_file() and path.read_bytes() != before.get(path)}
    assert {path.name for path in written} <= {"report.html", "gallery.html", "table.svg", "table.csv"}
    assert not (folder / "table.json").exists()


def test_a_table_that_was_stopped_has_the_same_page(folder: Path, tmp_path: Path) -> None:
    """Its documents were written, but for its verdict."""
    killed = shutil.copytree(folder, tmp_path / "killed" / folder.name, symlinks=True)
    assert stopped(folder) == stopped(killed, "table.json", "table.csv")


def test_a_table_without_any_run_has_a_page(folder: Path) -> None:
    text = stopped(folder, "table.json", "table.csv", "cells")
    assert "0 of 4 cells were run." in text
    assert not (folder / "gallery.html").exists()
    assert "gallery.html" not in text
