"""The claims table of docs/artifact.md; ``python -m tools.artifact`` writes it anew from the claims."""

from __future__ import annotations

from testbed import paths
from testbed.study.kinds.claims import Request
from testbed.study.kinds.claims_file import Claim, Claims, load

FILE = paths.CHECKOUT / "docs" / "artifact.md"
BEGIN, END = "<!-- claims: begin -->\n", "<!-- claims: end -->\n"
_KINDS = {
    "claim": "",
    "changed": "Changed: ",
    "correction": "Correction: ",
    "beyond": "Beyond the source: ",
    "measurement": "Measured only: ",
}


def claims_table(claims: Claims) -> str:
    """Markdown: a heading per source with its set-ups; a row per claim with the command that decides it, the check to
    look at, its set-up and what is other in it."""
    parts = []
    for name, source in claims.sources.items():
        rows = [
            "| claim | set-up, and what is other | command | output | expected | minutes, MB |",
            "|---|---|---|---|---|---|",
        ]
        for claim_id, claim in claims.claims.items():
            if claim.source != name:
                continue
            spec = claims.runs[claim.run]
            decided = f"check “{claim.check}”" if claim.check else f"claim `{claim_id}` of `./run.sh all`"
            expected = claim.expected + (f", {claim.tolerance}" if claim.tolerance else "")
            known = " **Does not reproduce.**" if claim.xfail else ""
            cells = (
                f"`{claim_id}`: {_KINDS[claim.kind]}{claim.text.strip()}{known}",
                _setup(claim),
                f"`{Request().command(spec)}`",
                f"`results/{spec.run}/latest/`, {decided}",
                expected,
                f"{spec.minutes:g}, {spec.disk_mb:g}",
            )
            rows.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
        if len(rows) > 2:
            setups = [
                f"- `{key}`: {_cell(setup.in_words())}" for key, setup in claims.setups.items() if setup.source == name
            ]
            parts.append(
                f"### {source.title}\n{source.by}, {source.where}\n\nIts set-ups, and what is other in every run:\n\n"
                + "\n".join([*setups, "", *rows])
                + "\n"
            )
    return "\n".join(parts)


def _setup(claim: Claim) -> str:
    words = f"`{claim.setup}`"
    if claim.differs:
        words += f". {claim.holds_with()}"
    return words + (f" Beside `{claim.beside}`." if claim.beside else "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def with_table(document: str, table: str) -> str:
    """The document with the table in place of the one that it has; ValueError where it has no place for it."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"there is no {BEGIN.strip()} … {END.strip()}")
    return before + begin + table + end + after


if __name__ == "__main__":
    FILE.write_text(with_table(FILE.read_text(encoding="utf-8"), claims_table(load())), encoding="utf-8")
