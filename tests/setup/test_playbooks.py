"""What playbooks call of the testbed is there: they are carried out by hand, and by the tests of a bare machine."""

import ast
import importlib
import re

import pytest

from testbed import paths

CALLS = [
    pytest.param(found, id=f"{path.name}-{number}")
    for path in sorted((paths.CHECKOUT / "playbooks").rglob("*.yml"))
    for number, found in enumerate(re.findall(r"bin/python -c '([^']+)'", path.read_text(encoding="utf-8")))
]


def missing(program: str) -> list[str]:
    """Names of the testbed that a program uses, and that are not there."""
    tree, known, found = ast.parse(program), {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("testbed"):
            module = importlib.import_module(str(node.module))
            for name in (alias.name for alias in node.names):
                try:
                    known[name] = getattr(module, name, None) or importlib.import_module(f"{node.module}.{name}")
                except ImportError:
                    found.append(f"{node.module}.{name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in known:
            found += [] if hasattr(known[node.value.id], node.attr) else [ast.unparse(node)]
    return found


@pytest.mark.parametrize("program", CALLS)
def test_what_a_playbook_calls_is_there(program: str) -> None:
    assert missing(program) == []


def test_a_name_that_is_not_there_is_found() -> None:
    assert missing("from testbed.services import influx; print(influx.stop())") == ["influx.stop"]
    assert missing("from testbed.services import nothing") == ["testbed.services.nothing"]


def test_the_playbooks_are_read() -> None:
    assert {"teardown.yml", "npm.yml"} <= {str(param.id).rsplit("-", 1)[0] for param in CALLS}
