"""Adds a night's claims to a table of all nights: history.py HOW CLAIMS_JSON HISTORY_CSV.

A night that is not to be trusted proves nothing, and is no success either. It alarms, with exit code 1 and a line that
says why, where a run broke down, where a claim that is trusted came out otherwise than known, and where it is the
third in a row of its kind."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

MOST_UNTRUSTED = 2
"""Nights in a row of a kind that may prove nothing."""
PROVES_NOTHING = ("untrusted", "inconclusive", "insufficient-data", "unsupported", "skipped")
COLUMNS = ("run", "how", "claim", "verdict", "as_known", "measured", "n")


def main(how: str, claims: Path, history: Path) -> int:
    """Add the night and judge it; returns the exit code."""
    document = json.loads(claims.read_text(encoding="utf-8"))
    add(how, document, history)
    why = alarm(how, document, history)
    if why:
        print(f"{how}: {why}")
    return 1 if why else 0


def alarm(how: str, document: dict[str, Any], history: Path) -> str:
    """The reason why an untrusted night alarms even so; empty where it does not, or is trusted."""
    if document["verdict"] != "untrusted":
        return ""
    broken = [name for name, run in document["runs"].items() if run["state"] == "error"]
    otherwise = [
        claim["id"]
        for claim in document["claims"]
        if claim["verdict"] not in PROVES_NOTHING and claim["as_known"] is not True
    ]
    if broken:
        return f"untrusted, and broken down: {', '.join(broken)}"
    if otherwise:
        return f"untrusted, and what is trusted is otherwise than known: {', '.join(otherwise)}"
    nights = untrusted_in_a_row(how, history)
    return f"the {nights}. night in a row that is untrusted" if nights > MOST_UNTRUSTED else ""


def untrusted_in_a_row(how: str, history: Path) -> int:
    """The latest nights of this kind, back to the last that was trusted."""
    with history.open(newline="", encoding="utf-8") as file:
        words = [row["verdict"] for row in csv.DictReader(file) if (row["how"], row["claim"]) == (how, "all")]
    return next((n for n, word in enumerate(reversed(words)) if word != "untrusted"), len(words))


def add(how: str, document: dict[str, Any], history: Path) -> None:
    """A row per claim, and one for all of them; a run that is there already is not added again."""
    run = document["run"]
    rows = [
        {**{column: claim.get(column, "") for column in COLUMNS}, "run": run, "how": how, "claim": claim["id"]}
        for claim in document["claims"]
    ]
    rows.append({"run": run, "how": how, "claim": "all", "verdict": document["verdict"], "n": len(rows)})
    new = not history.is_file()
    if not new:
        with history.open(newline="", encoding="utf-8") as file:
            if any(row["run"] == run and row["how"] == how for row in csv.DictReader(file)):
                return
    with history.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
