"""The claims table of docs/artifact.md; ``python -m tools.artifact`` writes it anew from the claims."""

from __future__ import annotations

from testbed import paths
from testbed.study.kinds.claims import Request
from testbed.study.kinds.claims_file import Claim, Claims, load
from tools.reference import cell, table

FILE = paths.CHECKOUT / "docs" / "artifact.md"
BEGIN, END = "<!-- claims: begin -->\n", "<!-- claims: end -->\n"
HEAD = ("claim", "set-up, and what is other", "command", "output", "expected", "minutes, MB")
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
        rows = [_row(claims, key, claim) for key, claim in claims.claims.items() if claim.source == name]
        setups = [f"- `{key}`: {cell(each.in_words())}\n" for key, each in claims.setups.items() if each.source == name]
        if rows:
            about = (
                f"### {source.title}\n{source.by}, {source.where}\n\nIts set-ups, and what is other in every run:\n\n"
            )
            parts.append(f"{about}{''.join(setups)}\n{table(HEAD, rows)}\n")
    return "\n".join(parts)


def _row(claims: Claims, name: str, claim: Claim) -> tuple[str, ...]:
    spec = claims.runs[claim.run]
    decided = f"check “{claim.check}”" if claim.check else f"claim `{name}` of `./run.sh all`"
    return (
        f"`{name}`: {_KINDS[claim.kind]}{claim.text.strip()}{' **Does not reproduce.**' if claim.xfail else ''}",
        _setup(claim),
        f"`{Request().command(spec)}`",
        f"`results/{spec.run}/latest/`, {decided}",
        claim.expected + (f", {claim.tolerance}" if claim.tolerance else ""),
        f"{spec.minutes:g}, {spec.disk_mb:g}",
    )


def _setup(claim: Claim) -> str:
    words = f"`{claim.setup}`"
    if claim.differs:
        words += f". {claim.holds_with()}"
    return words + (f" Beside `{claim.beside}`." if claim.beside else "")


def with_table(document: str, table: str) -> str:
    """The document with the table in place of the one that it has; ValueError where it has no place for it."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"there is no {BEGIN.strip()} … {END.strip()}")
    return before + begin + table + end + after


if __name__ == "__main__":
    FILE.write_text(with_table(FILE.read_text(encoding="utf-8"), claims_table(load())), encoding="utf-8")
