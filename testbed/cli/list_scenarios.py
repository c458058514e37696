"""``list``: scenarios, tables and sweeps, each with its last verdict on this machine; or all claims."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typing_extensions import TypedDict

from testbed import paths
from testbed.errors import BadInput
from testbed.runtime.terminal import console
from testbed.scenario import files

if TYPE_CHECKING:
    from rich.text import Text

COLOURS = {"pass": "green", "fail": "red", "untrusted": "yellow"}


class What(str, Enum):
    """The kinds of things that are listed."""

    EXPERIMENTS = "experiments"
    CLAIMS = "claims"


class Last(TypedDict):
    """The latest result: its verdict, its run, and when it was judged (ISO 8601, UTC)."""

    verdict: str
    run: str
    at: str


class Entry(TypedDict):
    """One file: what it shows, the source of that, how long its transfer takes at full rate, how it last ended."""

    name: str
    kind: str
    title: str
    source: str
    seconds: float | None
    file: str
    last: Last | None
    error: str


def list_(
    what: Annotated[What, typer.Argument(help="Experiments, or the claims that `all` decides.")] = What.EXPERIMENTS,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON document, for programs.")] = False,
) -> None:
    """List scenarios, tables and sweeps: what each shows and its source, how long its transfers take, of a table or
    sweep all of them, and how it last ended on this machine."""
    if what == What.CLAIMS:
        _list_claims(as_json=as_json)
        return
    entries = list(_entries())
    if as_json:
        print(json.dumps({"schema": 1, "entries": entries}, indent=1, ensure_ascii=False))
        return
    _print(("name", "what it shows [source]"), map(_row, entries))


def _list_claims(*, as_json: bool) -> None:
    from testbed.study.kinds import claims_file

    claims = claims_file.load().claims
    if as_json:
        entries = [{"id": name, "text": one.text, "source": one.source, "run": one.run} for name, one in claims.items()]
        print(json.dumps({"schema": 1, "claims": entries}, indent=1, ensure_ascii=False))
        return
    _print(("claim", "what it says [source]"), ((name, f"{one.text} [{one.source}]") for name, one in claims.items()))


def _entries() -> Iterator[Entry]:
    lasts = files.transfer_seconds()
    shipped = {"scenario": files.scenarios(), "link": files.links(), "table": files.tables(), "sweep": files.sweeps()}
    for kind, found in {**shipped, "peer": files.peers()}.items():
        for path in found:
            yield _entry(kind, path, lasts.get(path.stem))


def _entry(kind: str, path: Path, lasts_s: float | None) -> Entry:
    heading, error = {}, ""
    try:
        heading = files.heading(path)
    except BadInput as wrong:
        error = wrong.message
    return {
        "name": str(path.relative_to(paths.CHECKOUT)) if kind == "peer" else path.stem,
        "kind": kind,
        "title": heading.get("title", ""),
        "source": heading.get("source", ""),
        "seconds": lasts_s,
        "file": str(path),
        "last": last_verdict(path.stem),
        "error": error,
    }


def last_verdict(name: str) -> Last | None:
    """The verdict in the folder that ``latest`` leads to; None where there is none."""
    file = paths.results() / name / "latest" / "verdict.json"
    try:
        document = json.loads(file.read_bytes())
        judged = datetime.fromtimestamp(file.stat().st_mtime, timezone.utc)
        return {"verdict": document["verdict"], "run": document["run"], "at": judged.isoformat(timespec="seconds")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def ago(at: str, now: datetime) -> str:
    """``3 h ago``, of a time in ISO 8601."""
    seconds = max(0.0, (now - datetime.fromisoformat(at)).total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return "just now"


def in_words(seconds: float) -> str:
    """``43 s``, ``18 min``, ``3.2 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def _row(entry: Entry) -> tuple[str, Text]:
    from rich.text import Text

    shows = Text(f"({entry['error']})" if entry["error"] else entry["title"])
    if entry["source"]:
        shows.append(f" [{entry['source'].partition(', ')[0]}]")
    facts = [entry["kind"]] if entry["kind"] != "scenario" else []
    facts += [in_words(entry["seconds"])] if entry["seconds"] is not None else []
    shows.append(f"  {', '.join(facts)}" if facts else "", "dim")
    if last := entry["last"]:
        shows.append(f"  {last['verdict'].upper()}", COLOURS.get(last["verdict"], ""))
        shows.append(f" {ago(last['at'], datetime.now(timezone.utc))}", "dim")
    return entry["name"], shows


def _print(header: tuple[str, str], rows: Iterable[tuple[str, Text | str]]) -> None:
    """Two columns, as wide as the terminal or else 80 characters."""
    from rich.table import Table

    table = Table(*header, box=None, pad_edge=False, header_style="bold")
    table.columns[0].no_wrap = True
    for name, shows in rows:
        table.add_row(name, shows)
    to = console(width=80)
    with to.capture() as captured:
        to.print(table)
    print(*(line.rstrip() for line in captured.get().splitlines()), sep="\n", file=to.file)
