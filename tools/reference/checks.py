"""The page of checks, from their parameters."""

from __future__ import annotations

from tools.reference.fields import is_check, rows_of, schema_of
from tools.reference.markdown import generated, prose, table

COMMON = ("name", "policy", "judge")
INTRODUCTION = """\
What a scenario's `checks` may ask: `judge` names the judgement, and each judgement has the keys of its section.
How checks are written and combined: [scenarios](scenarios.md#checks), [verdicts](verdicts.md). To add one:
[a new check](scenarios.md#a-new-check)."""
SHARED = """\
Every check has a `name`, unique in the file. With `policy`, a name or a list of names, it is asked only of runs with
those window policies; in others it is `skipped` and counts neither way. `session` names one of several sessions;
times are from the start of the first one's transfer."""


def page() -> str:
    """The page's text."""
    schema = schema_of("scenario")
    found = {d["properties"]["judge"]["const"]: d for d in schema["$defs"].values() if is_check(d)}
    contents = [(f"[`{name}`](#{name})", prose(d["description"]).partition("\n\n")[0]) for name, d in found.items()]
    parts = [SHARED, table(("judge", "what must hold"), contents)]
    for name, definition in found.items():
        own = {key: each for key, each in definition["properties"].items() if key not in COMMON}
        rest = prose(definition["description"]).partition("\n\n")[2]
        keys = rows_of({**definition, "properties": own}, schema) if own else "No keys of its own."
        parts.append("\n\n".join(part for part in (f"## {name}", rest, keys) if part))
    return generated("Checks", INTRODUCTION, *parts)
