"""Checks that a document is a plan, key by key, and reads plans of earlier versions as today's.

Schema 1 has the rate of a link twice, ``rate_bps`` in whole bits per second and ``rate_pps``, and events set whole bits
per second.
"""

import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from testbed.documents import named, read_json
from testbed.errors import BadInput
from testbed.plan.model import SCHEMA, Plan
from topologies.link import rate_pps
from topologies.units import Rate, whole_bps


def current(document: Any) -> Any:
    """A plan of an earlier schema as one of today's; any other document is returned as it is."""
    if not _is_schema_1(document):
        return document
    found = {**document, "schema": SCHEMA}
    if isinstance(links := document.get("links"), list):
        found["links"] = [_with_one_rate(link) for link in links]
    return found


def as_in(recorded: Any, plan: Plan) -> Plan | dict[str, Any]:
    """A plan of today as the recorded document's schema has it, to be compared with that one."""
    if not _is_schema_1(recorded):
        return plan
    links = [{**link, "rate_bps": whole_bps(link["rate_bps"]), "rate_pps": rate_pps(link)} for link in plan["links"]]
    return {**plan, "schema": 1, "links": links, "timeline": [_in_whole_bps(action) for action in plan["timeline"]]}


def _is_schema_1(document: Any) -> bool:
    return isinstance(document, dict) and type(document.get("schema")) is int and document["schema"] == 1


def _with_one_rate(link: Any) -> Any:
    """The link with its rate as it was rounded, if ``rate_pps`` has it."""
    match link:
        case {"rate_bps": int(rounded), "rate_pps": int() | float() as pps, "frame_bytes": int(frame_bytes)}:
            exact = Rate(pps=pps).to_bps(frame_bytes) if math.isfinite(pps) else math.nan
            reported = not math.isclose(exact, rounded, rel_tol=1e-12) and abs(exact - rounded) <= 0.5
            rest = {key: value for key, value in link.items() if key != "rate_pps"}
            return {**rest, "rate_bps": exact if reported else rounded}
    return link


def _in_whole_bps(action: Any) -> Any:
    properties = action.get("properties", {})
    if "rate_bps" not in properties:
        return action
    return {**action, "properties": {**properties, "rate_bps": whole_bps(properties["rate_bps"])}}


@cache
def adapter() -> TypeAdapter[Plan]:
    """The adapter that validates plans, and makes their schema."""
    return TypeAdapter(Plan)


def read_plan(path: Path) -> Plan:
    """A folder's ``plan.json``, one of an earlier schema as one of today; BadInput names file, key, value and what
    would be right."""
    return valid(current(read_json(path)), str(path))


def valid(document: Any, where: str) -> Plan:
    """The document itself, with keys that are not known; BadInput begins with ``where`` it is from."""
    try:
        adapter().validate_python(document, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(named(document, first["loc"])) or "the document"
        is_missing = first["type"] == "missing"
        what = "is missing" if is_missing else f"{first['input']!r:.80} is not right: {first['msg']}"
        raise BadInput("plan.bad-value", f"{where}: {key}: {what}", key=key) from error
    plan: Plan = document
    for key, name in _names_of_files(plan):
        if not FILE_NAME.fullmatch(name):
            raise BadInput(
                "plan.bad-file-name",
                f"{where}: {key}: {name!r:.80} is not right: it names files; leave out / and the like",
                key=key,
            )
    return plan


FILE_NAME = re.compile(r"[^/\\\x00-\x1f.][^/\\\x00-\x1f]{0,199}")
"""A name that leads to no other folder."""


def _names_of_files(plan: Plan) -> Iterator[tuple[str, str]]:
    """Names of files and folders of results, with their keys."""
    yield from (("run", plan["run"]), ("scenario", plan["scenario"]), ("namespace", plan["namespace"]))
    yield from ((f"hosts.{n}.name", host["name"]) for n, host in enumerate(plan["hosts"], start=1))
    yield from ((f"nodes.{n}.name", node["name"]) for n, node in enumerate(plan["nodes"], start=1))
    yield from ((f"sessions.{n}.name", session["name"]) for n, session in enumerate(plan["sessions"], start=1))
    for number, link in enumerate(plan["links"], start=1):
        yield f"links.{number}.name", link["name"]
        yield from ((f"links.{number}.{end}.host", link[end]["host"]) for end in ("a", "b"))
