"""A table of two rows."""

from __future__ import annotations

from pathlib import Path

import pytest

SMALL = """\
name: small
title: Two rows
cells:
  links: [{name: a, rate: 1024pps, delay: 5ms}]
  ncp: {policy: nkp24, transfer: 1MiB}
  checks: [{name: payload, judge: payload_intact}]
rows:
  - {name: near}
  - name: far
    set:
      links.a.delay: 50ms
      transfer: 2MiB
columns:
  - policies: all
checks:
  - {name: faster, judge: ratio, column: nkp24, over: previous, min: 1}
quick: {rows.far.set.transfer: 1MiB}
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return str(path)
