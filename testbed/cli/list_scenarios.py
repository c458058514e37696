"""``list``: the scenarios, tables and sweeps that there are, and how each last ended here."""

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer
from typing_extensions import TypedDict

from testbed import paths
from testbed.errors import BadInput
from testbed.runtime.terminal import console
from testbed.scenario import files

COLOURS = {"pass": "green", "fail": "red", "untrusted": "yellow"}


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


def list_(as_json: Annotated[bool, typer.Option("--json", help="As a JSON document, for programs.")] = False) -> None:
    """List scenarios, tables and sweeps: what each shows and its source, how many seconds its transfers take, of a
    table or sweep all of them, and how it last ended on this machine."""
    entries = list(_entries())
    if as_json:
        print(json.dumps({"schema": 1, "entries": entries}, indent=1, ensure_ascii=False))
        return
    _print(entries)


def _entries() -> Iterator[Entry]:
    lasts = files.transfer_seconds()
    shipped = {"scenario": files.scenarios(), "link": files.links(), "table": files.tables(), "sweep": files.sweeps()}
    for kind, found in shipped.items():
        for path in found:
            yield _entry(kind, path, lasts.get(path.stem))


def _entry(kind: str, path: Path, lasts_s: float | None) -> Entry:
    heading, error = {}, ""
    try:
        heading = files.heading(path)
    except BadInput as wrong:
        error = wrong.message
    return {
        "name": path.stem,
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


def _print(entries: list[Entry]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", no_wrap=True)
    table.add_column("what it shows [source]")
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("last here", no_wrap=True)
    now = datetime.now(timezone.utc)
    for entry in entries:
        shows = f"({entry['error']})" if entry["error"] else entry["title"]
        shows += f"  [{entry['source']}]" if entry["source"] else ""
        shows += f"  ({entry['kind']})" if entry["kind"] != "scenario" else ""
        lasts = f"{entry['seconds']:.0f}" if entry["seconds"] is not None else ""
        last = entry["last"]
        ended = Text(last["verdict"].upper(), COLOURS.get(last["verdict"], "")) if last else Text()
        if last:
            ended.append(f" {ago(last['at'], now)}", "dim")
        table.add_row(entry["name"], Text(shows), lasts, ended)
    to = console()
    with to.capture() as captured:
        to.print(table)
    print(*(line.rstrip() for line in captured.get().splitlines()), sep="\n", file=to.file)
