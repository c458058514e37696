"""Harper, the grammar checker, over prose. Its words beside English are those of ``vocabulary.txt``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.words.prose import Text

VOCABULARY = Path(__file__).with_name("vocabulary.txt")
RULES = (
    *("SpellCheck", "RepeatedWords", "LongSentences", "QuantifierNumeralConflict", "PronounVerbAgreement"),
    # Genitives and pronouns without their noun, such as "the same whatever the machine's are", "one of the telemetry".
    *("SingleBe", "OneOfTheSingular", "AdjectiveOfA"),
)
"""Rules of Harper's that are right about this project's prose nearly always."""


def lint(texts: Sequence[Text], folder: Path) -> Iterator[tuple[Text, str]]:
    """Texts with a mistake, and the mistake. ``folder`` gets the document that is checked."""
    document = folder / "prose.md"
    document.write_text("\n\n".join(text.paragraph for text in texts))
    words = {form for word in VOCABULARY.read_text().split() for form in (word, word[0].upper() + word[1:])}
    vocabulary = folder / "vocabulary.txt"
    vocabulary.write_text("\n".join(f"{word}\n{word}'s" for word in sorted(words)))
    command: list[str | Path] = [Path(sys.executable).with_name("harper"), "lint", "--quiet", "--no-color"]
    command += ["--format=json", "--dialect=british", f"--only={','.join(RULES)}", f"--user-dict-path={vocabulary}"]
    done = subprocess.run([*command, document], capture_output=True, text=True, check=False)
    for lint in json.loads(done.stdout)[0]["lints"]:
        yield texts[(lint["line"] - 1) // 2], f"{lint['rule']}: {lint['matched_text']!r}: {lint['message']}"
