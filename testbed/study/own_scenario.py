"""The files that a result's scenario names, where it is one of this checkout's own."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed import confine
from testbed.errors import TestbedError
from testbed.judge.history import answer
from testbed.scenario import files
from testbed.scenario import load as scenarios
from testbed.scenario.kept import TOPOLOGY
from testbed.scenario.load import LoadedScenario
from testbed.study.programs import sources_of


def own_file(kept: Path, name: str, commit: str) -> Path:
    """This checkout's scenario file of that name, or its history's at the ``commit`` that a result names, where
    topology and links are those of the ``kept`` one; else, and where these name no file, ``kept`` itself.

    A commit that this checkout does not descend from may be anybody's, and does not count. Raises BadInput where
    ``kept`` can't be read.
    """
    wanted = _topology(kept)
    if not any(_names_file(part) for part in wanted):
        return kept
    for place in _places(name, commit):
        with suppress(TestbedError):
            if _topology(place) == wanted:
                return place
    return kept


def _topology(file: Path) -> list[Any]:
    """The topology and each of the links, as the file and what it extends have them."""
    document = scenarios.plain(scenarios.document_of(str(file), [], quick=False)[1])
    links = document.get("links")
    return [document.get("topology"), *(links if isinstance(links, list) else [links])]


def _names_file(part: Any) -> bool:
    """Whether it is a topology in Python, or a link with a trace or samples of jitter."""
    if not isinstance(part, dict):
        return False
    jitter = part.get("jitter")
    return any((part.get("file"), part.get("trace"), isinstance(jitter, dict) and jitter.get("file")))


def _places(name: str, commit: str) -> Iterator[Path]:
    yield from (path for path in (*files.scenarios(), *files.links()) if path.stem == name)
    if not commit or answer("merge-base", "--is-ancestor", commit, "HEAD") is None:
        return
    try:
        there = sources_of(commit) / "scenarios"
    except (OSError, TestbedError):
        return  # a checkout that can't be written to
    confine.add_own(there)
    yield from (path for path in (there / f"{name}.yaml", there / files.LINKS / f"{name}.yaml") if path.is_file())


def with_kept_topology(loaded: LoadedScenario, folder: Path) -> LoadedScenario:
    """A result folder's scenario with the topology that is kept beside it, where that is a program."""
    scenario = loaded.scenario
    if scenario.topology.file is None or loaded.path.parent != folder or not (folder / TOPOLOGY).is_file():
        return loaded
    topology = scenario.topology.model_copy(update={"file": Path(TOPOLOGY)})
    return replace(loaded, scenario=scenario.model_copy(update={"topology": topology}))
