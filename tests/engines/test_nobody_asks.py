"""Nobody asks which engine or traffic it has: their names are compared in their own files only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import paths
from testbed.engines.mininet.run import EmulatedRun
from testbed.engines.sim.run import SimulatedRun
from testbed.engines.virtual_run import VirtualRun
from testbed.engines.vkernel.run import GuestRun
from testbed.plan.engines import ENGINES
from testbed.plan.traffic_types import TRAFFIC

OWN = ("engines", "traffic")
"""Folders of the testbed's that are engines or traffic."""
OF_SOMETHING_ELSE = {"cli/bench.py": "a benchmark", "scenario/model.py": "a scenario's own sections"}
"""Files in which the names are other things'."""
TRANSPORTS = {"tcp"}
"""Traffic whose name a transport has as well."""


def compared(text: str, names: set[str]) -> Iterator[int]:
    """Lines that compare something with one of the names, or a tuple, list or set of them."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Compare):
            continue
        for side in [node.left, *node.comparators]:
            parts = side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side]
            if any(isinstance(part, ast.Constant) and part.value in names for part in parts):
                yield node.lineno


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('plan["engine"] == "sim"', True),
        ('"vkernel" != engine', True),
        ('engine in ("sim", "vkernel")', True),
        ('kind == "docker"', False),
        ('engines.named("sim")', False),
    ],
)
def test_a_comparison_is_found(text: str, found: bool) -> None:
    assert bool(list(compared(text, set(ENGINES)))) == found


def files() -> list[Path]:
    folder = paths.CHECKOUT / "testbed"
    for name in (*OWN, *OF_SOMETHING_ELSE):
        assert (folder / name).exists(), name
    return [path for path in sorted(folder.rglob("*.py")) if path.relative_to(folder).parts[0] not in OWN]


@pytest.mark.parametrize("names", [set(ENGINES), set(TRAFFIC) - TRANSPORTS], ids=["engines", "traffic"])
def test_nobody_compares_a_name(names: set[str]) -> None:
    folder = paths.CHECKOUT / "testbed"
    found = [
        f"{name}:{line}"
        for path in files()
        if (name := str(path.relative_to(folder))) not in OF_SOMETHING_ELSE
        for line in compared(path.read_text(), names)
    ]
    assert found == []


CLASSES = {run.__name__ for run in (EmulatedRun, GuestRun, SimulatedRun, VirtualRun)}
"""Of the engines' runs."""


def test_what_is_listed_here_is_there() -> None:
    """A name that nothing has any more would let everything pass."""
    folder = paths.CHECKOUT / "testbed"
    trees = [ast.parse(path.read_text()) for path in (folder / "engines").rglob("*.py")]
    defined = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    assert defined >= CLASSES
    assert set(TRAFFIC) >= TRANSPORTS
    assert all((folder / name).exists() for name in (*OWN, *OF_SOMETHING_ELSE))


def test_nobody_asks_for_an_engines_own_class_of_runs() -> None:
    found = [
        f"{path.relative_to(paths.CHECKOUT)}:{node.lineno}"
        for path in files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
        if {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)} & CLASSES
    ]
    assert found == []
