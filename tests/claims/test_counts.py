"""README's table of counts says what the reference results have."""

import re
from collections import Counter
from typing import Any

from testbed import paths
from testbed.study.checks.claims import read_claims

README = (paths.CHECKOUT / "README.md").read_text(encoding="utf-8")
COUNTS = README[README.index("<!-- counts: begin -->") : README.index("<!-- counts: end -->")]
COLUMNS = ("sim", "vkernel", "mininet")
"""The engines of the table's columns."""
NONE = "has no"
"""How a cell begins whose engine can carry none of the claims."""
SOURCES = {"NKP-0024": "nkp0024", "CS244": "cs244", "netdev": "rwnd", "kurtcms.org": "bdp", "NDN retreat": "ndn"}

Claims = list[dict[str, Any]]


def of_engine(engine: str) -> Claims:
    """All claims with their verdict on an engine, by the results that README names."""
    for name in re.findall(r"`(claims-[\w-]+)`", COUNTS):
        document = read_claims(paths.CHECKOUT / "data" / "reference" / name)
        if document["engine"] == engine:
            return list(document["claims"])
        if any(engine in claim["beside"] for claim in document["claims"]):
            return [claim | claim["beside"][engine] for claim in document["claims"]]
    raise AssertionError(f"README names no results of {engine}")


def counted(claims: Claims) -> str:
    """A cell: how many hold, fail and are open."""
    words = Counter(claim["verdict"] for claim in claims)
    held, failed = words.pop("pass", 0), words.pop("fail", 0)
    if not held and not failed:
        return NONE
    counts = {"hold": held, "fails" if failed == 1 else "fail": failed, "open": words.total()}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def test_the_readme_counts_what_the_reference_results_have() -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in COUNTS.splitlines() if line[:2] == "| "]
    told = {
        next((key for word, key in SOURCES.items() if f"[{word}]" in row[0]), "others"): row[1:] for row in rows[1:]
    }
    found = {}
    for source in (*SOURCES.values(), "others"):
        columns = [
            [one for one in of_engine(engine) if source == (one["source"] if one["kind"] == "claim" else "others")]
            for engine in COLUMNS
        ]
        found[source] = [*map(counted, columns)]
    assert {
        source: [NONE if cell.startswith(NONE) else cell for cell in cells] for source, cells in told.items()
    } == found
