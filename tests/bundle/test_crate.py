"""A bundle's metadata meet all that Process Run Crate requires and recommends, as roc-validator has it."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from testbed.archive.pack import CRATE, pack
from testbed.machine.machine import ROC_VALIDATOR
from tests.bundle import made

SCRIPT = Path(__file__).parent / "roc_validate.py"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("crate")
    folder = made.emulated(place)
    provenance = folder / "provenance.json"
    document = {**json.loads(provenance.read_text()), "commit": COMMIT}
    provenance.write_text(json.dumps(document))
    pack([folder], place / "bundle.zip")
    with zipfile.ZipFile(place / "bundle.zip") as archive:
        archive.extractall(place / "crate")
    return place / "crate"


def findings(crate: Path) -> list[dict[str, str]]:
    if not ROC_VALIDATOR.exists():
        pytest.skip("roc-validator is not installed (./run.sh test as root installs it)")
    python = ROC_VALIDATOR.with_name("python")
    done = subprocess.run([str(python), str(SCRIPT), str(crate)], capture_output=True, text=True, check=True, cwd=crate)
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def test_nothing_that_is_required_or_recommended_is_missing(crate: Path) -> None:
    assert findings(crate) == []


def test_the_validator_finds_what_is_missing(crate: Path, tmp_path: Path) -> None:
    """Without the network it still has the context, without which it could say nothing."""
    document: dict[str, Any] = json.loads((crate / CRATE).read_text())
    for entity in document["@graph"]:
        if entity["@type"] == "SoftwareApplication":
            del entity["url"]
        if entity["@type"] == "CreateAction":
            del entity["instrument"]
    (tmp_path / CRATE).write_text(json.dumps(document))
    for path in crate.rglob("*"):
        if path.is_file() and path.name != CRATE:
            copy = tmp_path / path.relative_to(crate)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(path)
    found = findings(tmp_path)
    assert {one["severity"] for one in found} == {"REQUIRED", "RECOMMENDED"}
    messages = " ".join(one["message"] for one in found)
    assert "The Application SHOULD have a url" in messages
    assert "MUST have an instrument" in messages
