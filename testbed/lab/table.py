"""Results as text for a terminal and as Markdown for a README."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.lab.result import Section, Target

WORDS = {True: "PASS", False: "FAIL", None: "–"}


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned: the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [columns, *rows]
    )


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as GitHub renders it."""
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_text(section: Section) -> str:
    """A section for a terminal."""
    parts = [section.title, _indented(text_table(section.columns, section.rows))]
    parts += [f"  {WORDS[t.met]:<4}  {t.name}: {t.measured} (expected: {t.expected})" for t in section.targets]
    parts += [f"  note: {note}" for note in section.notes]
    return "\n".join(parts)


def as_markdown(headline: str, sections: Sequence[Section]) -> str:
    """The whole benchmark."""
    parts = [headline]
    for section in sections:
        parts.append(f"### {section.title}\n\n{markdown_table(section.columns, section.rows)}")
        parts += ["\n".join(f"- {note}" for note in section.notes)] if section.notes else []
    targets: list[Target] = [target for section in sections for target in section.targets]
    parts.append(
        "### Targets\n\n"
        + markdown_table(
            ["target", "expected", "measured", ""], [[t.name, t.expected, t.measured, WORDS[t.met]] for t in targets]
        )
    )
    return "\n\n".join(parts) + "\n"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
