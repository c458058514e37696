"""Sizes of assets: which files count, what is counted, and what the documentation says of them."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from testbed import paths
from tests.tcp.assets.distribution import read_sizes, share_within
from tests.tcp.assets.measure import PACKAGES, SIZES, measured


def test_scripts_stylesheets_fonts_and_images_as_served(tmp_path: Path) -> None:
    script = b"let a = 1;\n" * 400
    files = {
        "package/dist/a.min.js": script,
        "package/dist/font.woff2": b"f" * 700,
        "package/dist/a.js": b"x",
        "package/src/b.min.js": b"x",
        "package/svgs/one.svg": b"x",
        "package/README.md": b"x",
    }
    archive = tmp_path / "a.tgz"
    with tarfile.open(archive, "w:gz") as package:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            package.addfile(member, io.BytesIO(content))
    assert list(measured(archive)) == [
        ("dist/a.min.js", 4400, len(gzip.compress(script, 6, mtime=0))),
        ("dist/font.woff2", 700, 700),
    ]


def test_the_file_has_every_package() -> None:
    text = SIZES.read_text()
    assert all(f"{package}," in text for package in PACKAGES)
    sizes = read_sizes()
    assert len(sizes["as sent"]) == len(sizes["as they are"]) > 100
    assert all(sent <= whole + 50 for sent, whole in zip(*sizes.values(), strict=True))


@pytest.mark.parametrize(("name", "three", "ten"), [("as sent", "24%", "57%"), ("as they are", "16%", "36%")])
def test_the_documentations_shares_are_the_files(name: str, three: str, ten: str) -> None:
    sizes = read_sizes()[name]
    assert (f"{share_within(sizes, 3):.0%}", f"{share_within(sizes, 10):.0%}") == (three, ten)
    assert f"| {name} | {three} | {ten} |" in (paths.CHECKOUT / "docs" / "results" / "tcp.md").read_text()
