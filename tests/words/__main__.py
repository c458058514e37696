"""``python -m tests.words [PATH…]``: prints the violations below paths; without one, writes ``pending.tsv``."""

import sys

from tests.words import pending, prose

texts = prose.everything()
if paths := tuple(sys.argv[1:]):
    for text, why in pending.violations([text for text in texts if text.file.startswith(paths)]):
        print(f"{text}\n    {why}")
else:
    pending.write(pending.count(pending.violations(texts)))
