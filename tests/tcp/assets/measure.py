"""Measures how large the files are that web pages fetch of well-known front-end packages (``sizes.csv``).

``python -m tests.tcp.assets.measure FOLDER`` asks npm for the packages into the folder (about 23 MB) and writes the
file anew. The packages are named with their versions, so that it comes out the same.
"""

from __future__ import annotations

import csv
import gzip
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

SIZES = Path(__file__).with_name("sizes.csv")
PACKAGES = (
    "@fortawesome/fontawesome-free@6.5.2",
    "animate.css@4.1.1",
    "bootstrap@5.3.3",
    "chart.js@4.4.3",
    "d3@7.9.0",
    "jquery@3.7.1",
    "katex@0.16.10",
    "leaflet@1.9.4",
    "normalize.css@8.0.1",
    "react-dom@18.3.1",
    "select2@4.0.13",
    "slick-carousel@1.8.1",
    "swiper@11.1.3",
    "three@0.164.1",
    "video.js@8.12.0",
    "vue@3.4.27",
)

_FETCHED = re.compile(r"(\.min|\.prod|\.umd)\.(js|css)$|/normalize\.css$|\.(woff2|png|gif|svg|jpg)$")
"""Scripts and stylesheets as they are served (minified), fonts and images."""
_NOT_FETCHED = re.compile(r"/(src|docs|examples|scss|less|test|modules|svgs|sprites)/")
"""Sources, and parts that pages use bundled: an icon set's single icons, a package's modules."""
_COMPRESSED = re.compile(r"\.(js|css|svg)$")


def measured(archive: Path) -> Iterator[tuple[str, int, int]]:
    """Path, bytes, and bytes as a server sends it (scripts, stylesheets and SVG by gzip) of a package's assets."""
    with tarfile.open(archive) as package:
        for member in sorted(package.getmembers(), key=lambda m: m.name):
            where = f"/{member.name}"
            if not member.isfile() or not _FETCHED.search(where) or _NOT_FETCHED.search(where):
                continue
            file = package.extractfile(member)
            assert file is not None  # it is a file
            content = file.read()
            sent = gzip.compress(content, 6, mtime=0) if _COMPRESSED.search(where) else content
            yield member.name.removeprefix("package/"), len(content), len(sent)


def main(folder: Path) -> None:
    """Fetch, measure, write."""
    folder.mkdir(parents=True, exist_ok=True)
    with SIZES.open("w", newline="", encoding="utf-8") as file:
        file.write("# files that pages fetch of npm packages; sent_bytes: scripts, stylesheets and SVG by gzip -6\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["package", "file", "bytes", "sent_bytes"])
        for package in PACKAGES:
            packed = subprocess.run(
                ["npm", "pack", "--silent", "--pack-destination", str(folder), package],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout.strip()
            for name, size, sent in measured(folder / packed):
                writer.writerow([package, name, size, sent])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
