"""Adds a night's claims to a table of all nights: history.py HOW CLAIMS_JSON HISTORY_CSV."""

import csv
import json
import sys
from pathlib import Path

COLUMNS = ("run", "how", "claim", "verdict", "as_known", "measured", "n")


def main(how: str, claims: Path, history: Path) -> None:
    """A row per claim, and one for all of them; a run that is there already is not added again."""
    document = json.loads(claims.read_text(encoding="utf-8"))
    run = document["run"]
    rows = [
        {
            **{column: claim.get(column, "") for column in COLUMNS},
            "run": run,
            "how": how,
            "claim": claim["id"],
        }
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
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
