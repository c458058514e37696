"""The size of the house: how many packages, on how many levels, with how many imports between them."""

from __future__ import annotations

import pkgutil
import re
from functools import cache

import grimp
import pytest

from testbed import paths

PACKAGES, LEVELS, ARROWS = 17, 14, 110
"""At most. A level is a package's longest way down through the packages that it imports."""


@cache
def arrows() -> frozenset[tuple[str, str]]:
    """Which package of testbed imports which; loose modules are none."""
    graph = grimp.build_graph("testbed")
    packages = {folder.parent.name for folder in (paths.CHECKOUT / "testbed").glob("*/__init__.py")}
    found = {
        (importer.split(".")[1], imported.split(".")[1])
        for importer in graph.modules
        if "." in importer
        for imported in graph.find_modules_directly_imported_by(importer)
        if "." in imported
    }
    return frozenset((above, below) for above, below in found if above != below and {above, below} <= packages)


def level(package: str, *above: str) -> int:
    assert package not in above, f"a circle: {' → '.join([*above, package])}"
    return 1 + max((level(below, *above, package) for importer, below in arrows() if importer == package), default=0)


def test_packages_fit_in_a_head() -> None:
    packages = {package for arrow in arrows() for package in arrow}
    assert len(packages) <= PACKAGES
    assert max(level(package) for package in packages) <= LEVELS
    assert len(arrows()) <= ARROWS


EMBEDDED = re.compile(r"^[^#\n]*?\bfrom (testbed[\w.]*) import (\w+(?:, \w+)*)(.*)", re.MULTILINE)


def embedded_imports(text: str) -> list[str]:
    """What Python within a script, a playbook or a page imports of testbed, with attributes that the same line uses:
    their whole names."""
    return [
        f"{module}.{used}"
        for module, names, rest in EMBEDDED.findall(text)
        for name in names.split(", ")
        for used in [name, *re.findall(rf"\b{name}\.\w+", rest)]
    ]


def leads_somewhere(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_imports_in_scripts_playbooks_and_pages_lead_somewhere() -> None:
    files = [file for kind in ("*.sh", "*.yml", "*.md", "*.j2") for file in paths.CHECKOUT.glob(f"[a-z]*/**/{kind}")]
    found = {
        name: file for file in files if "node_modules" not in file.parts for name in embedded_imports(file.read_text())
    }
    assert {"testbed.services.influx.server", "testbed.machine.check.probe_all"} <= set(found)
    assert [f"{file}: {name}" for name, file in found.items() if not leads_somewhere(name)] == []


@pytest.mark.parametrize(
    "text",
    [
        "cmd: python -c 'from testbed import doctor'",
        "cmd: python -c 'from testbed.services import influx; print(influx.stop())'",
    ],
)
def test_an_import_that_leads_nowhere_is_found(text: str) -> None:
    assert not all(map(leads_somewhere, embedded_imports(text)))
