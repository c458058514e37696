"""What a guest sees of the checkout: sources and packages, and nothing of where it is or of what lies about in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import paths
from testbed.engines.vkernel import checkout
from testbed.machine import guest_kernel as kernel
from testbed.machine import packages

SITE = Path(".venv/lib") / checkout.site_packages().parts[-2] / "site-packages"
FILES = {
    "testbed/__init__.py": "",
    "topologies/one.py": "ONE = 1\n",
    "testbed/__pycache__/left.pyc": "",
    "results/run/verdict.json": "{}",
    ".venv/pyvenv.cfg": "home = /usr/bin\ncommand = /usr/bin/python3 -m venv /somewhere/.venv\n",
    str(SITE / "six.py"): "",
    str(SITE / "six-1.17.0.dist-info/METADATA"): "Name: six\nVersion: 1.17.0\n",
    str(SITE / "six-1.17.0.dist-info/RECORD"): "six.py,,\n__pycache__/six.pyc,,\nsix-1.17.0.dist-info/METADATA,,\n",
    str(SITE / "__pycache__/six.pyc"): "",
    str(SITE / "pytest.py"): "",
    str(SITE / "pytest-9.dist-info/METADATA"): "Name: pytest\nVersion: 9\n",
    str(SITE / "pytest-9.dist-info/RECORD"): "pytest.py,,\n",
}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        file = tmp_path / "clone" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for name in checkout.SOURCES:
        (tmp_path / "clone" / name).mkdir(exist_ok=True)
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path / "clone")
    monkeypatch.setattr(paths, "BINARIES", tmp_path / "clone" / ".build" / "bin")
    monkeypatch.setattr(checkout, "KEPT", tmp_path / "clone" / ".build" / "codes")
    monkeypatch.setattr(packages, "export", lambda _group: "six==1.17.0 ; sys_platform == 'linux'\n")
    monkeypatch.setattr(kernel, "own_cache", lambda: tmp_path / "cache")
    forget()
    yield tmp_path / "clone"
    forget()


def forget() -> None:
    for known in (checkout._sources_digest, checkout._packages_digest, checkout._distributions):
        known.cache_clear()


def seen(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_it_is_what_a_guest_loads_and_no_more(clone: Path) -> None:
    sources, programs, packages = checkout.mounts()
    assert seen(sources.outside) == {".venv/bin/python", ".venv/pyvenv.cfg", "testbed/__init__.py", "topologies/one.py"}
    assert "somewhere" not in (sources.outside / ".venv" / "pyvenv.cfg").read_text()
    assert programs.outside == clone / ".build" / "bin"
    assert seen(packages.outside) == {"six.py", "six-1.17.0.dist-info/METADATA"}
    # Each has its place in the first.
    for place in (programs, packages):
        assert (sources.outside / place.inside.relative_to(sources.inside)).is_dir()


def test_what_lies_about_changes_nothing_and_a_source_does(clone: Path) -> None:
    before = checkout.digest()
    (clone / "results" / "another").write_text("")
    (clone / SITE / "hypothesis.py").write_text("")
    forget()
    assert checkout.digest() == before
    (clone / "topologies" / "one.py").write_text("ONE = 2\n")
    forget()
    assert checkout.digest() != before


def test_another_version_of_a_package_is_another_guest(clone: Path) -> None:
    before = checkout.digest()
    (clone / SITE / "six-1.17.0.dist-info/METADATA").write_text("Name: six\nVersion: 1.18.0\n")
    forget()
    assert checkout.digest() != before


def test_a_folder_that_could_not_be_made_is_not_there(clone: Path) -> None:
    def half(made: Path) -> None:
        (made / "half").write_text("")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        checkout.cached("kind", "x", half)
    made: list[Path] = []
    folder = checkout.cached("kind", "x", made.append)
    assert len(made) == 1
    assert checkout.cached("kind", "x", made.append) == folder
    assert len(made) == 1, "it is there already"
    assert folder.is_dir()
    assert seen(folder) == set()


def test_sources_that_are_not_there_are_an_error(clone: Path) -> None:
    (clone / "topologies").rename(clone / "shapes")
    with pytest.raises(FileNotFoundError, match="topologies"):
        checkout.digest()
