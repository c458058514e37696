"""A run's id covers the code that its programs are linked of."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from testbed import engines, paths
from testbed.engines import virtual_run
from testbed.engines.sim import run as sim
from testbed.engines.vkernel import run as vkernel
from testbed.machine import build

PLAN: Any = {"seed": 1}
LINKED = "{{with .Module}}{{if .Main}}{{range $file := $.GoFiles}}{{$.Dir}}/{{$file}} {{end}}{{end}}{{end}}"
OTHERS = (
    "{{with .Module}}{{if .Main}}{{$.EmbedFiles}}{{$.CgoFiles}}{{$.SFiles}}{{$.CFiles}}{{$.SysoFiles}}{{end}}{{end}}"
)


@cache
def linked(engine: str, form: str = LINKED) -> str:
    """What ``go list -deps`` says of an engine's programs; by default the files of this module that are linked."""
    programs = [build.PROGRAMS[name] for name in engines.named(engine).programs]
    command = [build.go_tool(), "list", "-deps", "-f", form, *programs]
    return subprocess.run(command, cwd=paths.CHECKOUT, capture_output=True, text=True, check=True).stdout


def files(engine: str) -> list[Path]:
    return [Path(name).relative_to(paths.CHECKOUT) for name in linked(engine).split()]


def test_sources_are_what_is_linked() -> None:
    assert sorted({str(file.parent) for file in files("sim")} | {"go.mod"}) == list(sim.SOURCES)
    folders = [name for name in vkernel.SOURCES if (paths.CHECKOUT / name).is_dir()]
    assert folders == sorted({file.parts[0] for file in files("vkernel")})


@pytest.mark.parametrize("engine", ["sim", "vkernel"])
def test_go_files_are_all_that_is_linked(engine: str) -> None:
    assert set(linked(engine, OTHERS).split()) == {"[][][][][]"}


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the sources of both engines, which ids follow from instead of the checkout's."""
    for name in {*sim.SOURCES, *vkernel.SOURCES}:
        source, target = paths.CHECKOUT / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)
    monkeypatch.setattr(virtual_run, "texts", virtual_run.texts.__wrapped__)
    return tmp_path


IDS: dict[str, Callable[[], str]] = {
    "sim": lambda: sim.run_id(PLAN),
    "vkernel": lambda: virtual_run.run_id("vk", PLAN, virtual_run.texts(vkernel.SOURCES)),
}


@pytest.mark.parametrize("engine", IDS)
def test_an_edit_of_a_linked_file_gives_another_id(copy: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    every = [*files(engine), Path("go.mod")]
    if engine == "vkernel":  # which reads hundreds for each id: one of a package
        every = list({file.parent: file for file in every}.values())
    monkeypatch.setattr(paths, "CHECKOUT", copy)
    id_of = IDS[engine]
    ids = {id_of()}
    for file in every:
        text = (copy / file).read_text()
        (copy / file).write_text(text + "\n")
        ids.add(id_of())
        (copy / file).write_text(text)
    assert len(ids) == len(every) + 1
    (copy / "internal" / "linkmodel" / "loss_test.go").write_text("package linkmodel\n")
    assert id_of() in ids, "tests are not linked"


@pytest.mark.parametrize("engine", IDS)
def test_a_source_that_is_not_there_is_an_error(copy: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "CHECKOUT", copy)
    shutil.move(copy / "ncp-agent", copy / "agents")
    with pytest.raises(FileNotFoundError, match="ncp-agent"):
        IDS[engine]()
