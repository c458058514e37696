"""``python -m tests.words [PATH…]``: prints the violations below paths, or all."""

import sys

from tests.words import check, prose

for text, why in check.violations(
    [text for text in prose.everything() if text.file.startswith(tuple(sys.argv[1:] or [""]))]
):
    print(f"{text}\n    {why}")
