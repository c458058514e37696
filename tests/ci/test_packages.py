"""The size of the house: how many packages, on how many levels, with how many imports between them."""

from __future__ import annotations

from functools import cache

import grimp

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
